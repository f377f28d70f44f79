package cases_test

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// fleet is a site with so many pending jobs, and their ids.
func fleet(t *testing.T, n int) (*site, []string) {
	t.Helper()
	x := newSite(t)
	manySlots(t, x.Service)
	var ids []string
	for i := range n {
		id := fmt.Sprintf("r%02d", i)
		x.Granted(t, id, "", micros(1))
		ids = append(ids, id)
	}
	return x, ids
}

// A job is planned and approved, and before it runs one target settles, one changes, and another one becomes eligible. The chunk with a changed
// one is a conflict that names it, again and again; what is changed in the end is exactly what was approved and had not changed, and the new
// one is untouched.
func TestCase34APlanThatWentStaleNamesWhatChanged(t *testing.T) {
	t.Parallel()
	x, ids := fleet(t, 6)
	p := plan(t, x.Service, "first", cancelling, 2)
	if !slices.Equal(proposed(p), ids) {
		t.Fatalf("proposed are %q", proposed(p))
	}
	approve(t, x.Service, p.GetManifest())
	x.Settle(t, ids[3], "", apptest.Cancelled())
	x.Extend(t, ids[4], 3600)
	x.Granted(t, "new", "", micros(1))

	if c, err := runChunk(t, x.Service, "first"); err != nil || c.GetNextIndex() != 2 {
		t.Fatalf("%v, %v", c, err)
	}
	before := x.Copy(t)
	for range 3 {
		changed, err := drainJob(t, x.Service, "first")
		wantConflict(t, err, ids[3], "REVISION,STATE")
		is(t, "reservations that a conflict let through", len(changed), 0)
	}
	x.Unchanged(t, before)
	wantAudit(t, x.Service, "first", ids[:2], endCancelled)

	// What is left needs another decision: a new job, which finds the new one, too, and is approved without it and without the changed one.
	again := plan(t, x.Service, "second", cancelling, 2).GetManifest()
	again.Targets = slices.DeleteFunc(again.Targets, func(target *settlementv1.Target) bool {
		return target.GetReservationId() == "new" || target.GetReservationId() == ids[4]
	})
	approve(t, x.Service, again)
	if changed, err := drainJob(t, x.Service, "second"); err != nil || !slices.Equal(changed, []string{ids[2], ids[5]}) {
		t.Errorf("%q, %v", changed, err)
	}
	wantAudit(t, x.Service, "second", []string{ids[2], ids[5]}, endCancelled)
	wantAudit(t, x.Service, "first", ids[:2], endCancelled)
	for id, revision := range map[string]int32{"new": 0, ids[4]: 1} {
		r := x.Get(t, id)
		is(t, id, r.GetState(), pending)
		is(t, "the revision of "+id, r.GetRevision(), revision)
	}
	x.whole()
}

// A manifest that was altered or cut short is never a job that was approved: under the same id it is refused, before, during and after the run.
func TestCase34AnAlteredManifestIsNotTheApprovedOne(t *testing.T) {
	t.Parallel()
	x, ids := fleet(t, 4)
	m := plan(t, x.Service, "job", cancelling, 2).GetManifest()
	approve(t, x.Service, m)
	alterations := map[string]func(*settlementv1.Manifest){
		"manifest.targets":    func(m *settlementv1.Manifest) { m.Targets = m.Targets[:3] },
		"manifest.chunk_size": func(m *settlementv1.Manifest) { m.ChunkSize = 4 },
		"manifest.action":     func(m *settlementv1.Manifest) { m.Action = releasing },
	}
	for n := 0; n <= 4; n += 2 {
		before := x.Copy(t)
		for field, alter := range alterations {
			altered := proto.CloneOf(m)
			alter(altered)
			_, err := x.Jobs.RegisterJob(t.Context(), registering(altered))
			wantExists(t, err, field)
		}
		amount := proto.CloneOf(m)
		amount.Targets[3].Taken = new(int64(11))
		_, err := x.Jobs.RegisterJob(t.Context(), registering(amount))
		wantExists(t, err, "manifest.targets")
		x.Unchanged(t, before)
		wantAudit(t, x.Service, "job", ids[:n], endCancelled)
		if n == 4 {
			break
		}
		if _, err := runChunk(t, x.Service, "job"); err != nil {
			t.Fatal(err)
		}
	}
	x.whole()
}
