package jobs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// wantReport compares the lists of a report, drifted ones with what differs.
func (f *fleet) wantReport(t testing.TB, job string, want map[string][]string) {
	t.Helper()
	r := f.report(t, job)
	got := map[string][]string{"committed": r.GetCommitted(), "remaining": r.GetRemaining(), "matching": r.GetMatching(), "missing": r.GetMissing()}
	for _, target := range r.GetApproved() {
		got["approved"] = append(got["approved"], target.GetReservationId())
	}
	for _, d := range r.GetDrifted() {
		got["drifted"] = append(got["drifted"], d.GetReservationId())
	}
	for list := range got {
		if !slices.Equal(got[list], want[list]) {
			t.Errorf("%s of %s: %q, want %q", list, job, got[list], want[list])
		}
	}
}

// A report tells approved, committed, remaining and matching at every step of a job, in the order of the ids, and writes nothing.
func TestReportAtEveryStep(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 5)
	m := f.manifest(t, "j1", 2)
	slices.Reverse(m.Targets)
	f.register(t, m)
	f.wantReport(t, "j1", map[string][]string{"approved": f.ids, "remaining": f.ids})
	f.approved(t, m)
	for _, n := range []int{2, 4, 5} {
		f.run(t, "j1")
		before := f.Copy(t)
		f.wantReport(t, "j1", map[string][]string{"approved": f.ids, "committed": f.ids[:n], "remaining": f.ids[n:], "matching": f.ids[:n]})
		f.Unchanged(t, before)
	}
	if r := f.report(t, "j1"); r.GetJob().GetState() != settlementv1.JobState_JOB_STATE_DONE {
		t.Errorf("%v", r.GetJob())
	}
}

// What changed after a job is drift, each with what differs and what happened; the rest of the job goes on and touches none of it.
func TestReportShowsDrift(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 6)
	for _, id := range f.ids {
		f.Permitted(t, apptest.Check(id, "check-"+id, apptest.Input))
	}
	f.approved(t, f.manifest(t, "j1", 4))
	f.run(t, "j1")
	f.Reconcile(t, f.ids[1], "check-"+f.ids[1], apptest.Costs(7))
	f.Reconcile(t, f.ids[2], "check-"+f.ids[2], apptest.CheckSucceeded(apptest.Money(3)))
	f.Reconcile(t, f.ids[2], "check-"+f.ids[2], apptest.Costs(5)) // an exception, for an operator
	f.corrupted(t, "UPDATE reservations SET revision = 9, state = 'FAILED', outcome_kind = 'GIVEN_UP', taken_amount = 11 WHERE reservation_id = $1", f.ids[3])
	want := map[string][]string{
		"approved": f.ids, "committed": f.ids[:4], "remaining": f.ids[4:], "matching": f.ids[:1], "drifted": f.ids[1:4],
	}
	f.wantReport(t, "j1", want)

	events := func(e ...settlementv1.EventType) []settlementv1.EventType { return e }
	differ := func(what settlementv1.Mismatch, expected, found string) *settlementv1.Difference {
		return &settlementv1.Difference{What: what, Expected: expected, Found: found}
	}
	revision := differ(settlementv1.Mismatch_MISMATCH_REVISION, "2", "3")
	drifted := f.report(t, "j1").GetDrifted()
	for i, want := range []*settlementv1.DriftedTarget{
		{ReservationId: f.ids[1], Differences: []*settlementv1.Difference{revision}, LaterEvents: events(settlementv1.EventType_EVENT_TYPE_COST_RECORDED)},
		{ReservationId: f.ids[2], Differences: []*settlementv1.Difference{revision}, LaterEvents: events(settlementv1.EventType_EVENT_TYPE_REPORTED)},
		{ReservationId: f.ids[3], Differences: []*settlementv1.Difference{
			differ(settlementv1.Mismatch_MISMATCH_REVISION, "2", "9"),
			differ(settlementv1.Mismatch_MISMATCH_TAKEN, "10 CREDITS", "11 CREDITS"),
			differ(settlementv1.Mismatch_MISMATCH_STATE, "CANCELLED", "FAILED"),
			differ(settlementv1.Mismatch_MISMATCH_OUTCOME, "CANCELLED", "GIVEN_UP"),
		}},
	} {
		if diff := cmp.Diff(want, drifted[i], protocmp.Transform()); diff != "" {
			t.Errorf("drift %d: %s", i, diff)
		}
	}

	before := f.Copy(t)
	f.run(t, "j1") // the rest
	want["committed"], want["remaining"] = f.ids, nil
	want["matching"] = slices.Concat(f.ids[:1], f.ids[4:])
	f.wantReport(t, "j1", want)
	after := f.report(t, "j1").GetDrifted()
	if diff := cmp.Diff(drifted, after, protocmp.Transform()); diff != "" {
		t.Errorf("the rest of the job touched what had drifted: %s", diff)
	}
	if before["lines"] != f.Copy(t)["lines"] {
		t.Error("the journal changed")
	}
}

// corrupted changes a reservation with every guard off.
func (f *fleet) corrupted(t testing.TB, sql string, args ...any) {
	t.Helper()
	tx, err := f.DB.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"SET LOCAL session_replication_role = replica", "ALTER TABLE reservations DROP CONSTRAINT IF EXISTS taken_as_asked"} {
		if _, err := tx.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A reservation that is gone is missing, and another one that looks just like it is no stand-in.
func TestReportHasNoStandIns(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4)
	f.approved(t, f.manifest(t, "j1", 3, f.ids[:3]...))
	f.approved(t, f.manifest(t, "j2", 1, f.ids[3]))
	f.run(t, "j1")
	f.run(t, "j2") // the same in everything but its id
	f.corrupted(t, "DELETE FROM reservations WHERE reservation_id = $1", f.ids[1])
	f.wantReport(t, "j1", map[string][]string{
		"approved": f.ids[:3], "committed": f.ids[:3], "matching": {f.ids[0], f.ids[2]}, "missing": {f.ids[1]},
	})
}

// A job that releases customers expects another end than one that cancels.
func TestReportOfARelease(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	for _, id := range f.ids {
		f.Permitted(t, apptest.Check(id, "check-"+id, apptest.Input))
	}
	f.TurnClock(2 * time.Minute)
	m := f.manifest(t, "j1", 2)
	m.Action = releaseJob
	f.approved(t, m)
	f.run(t, "j1")
	f.wantReport(t, "j1", map[string][]string{"approved": f.ids, "committed": f.ids, "matching": f.ids})
	f.Verify(t)
}

// Reports of hundreds of later changes are bounded, and those of unknown jobs are none.
func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.approved(t, f.manifest(t, "j1", 1))
	f.run(t, "j1")
	f.corrupted(t, "UPDATE reservations SET revision = 2147483647 WHERE reservation_id = $1", f.ids[0])
	f.DB.Exec(`INSERT INTO entries (tenant_id, event_key, event_type, account_id, reservation_id, revision, budget_held_change, budget_spent_change, created_at)
		SELECT 'acme', 'change ' || $1 || ' ' || n, 'COST_RECORDED', 'alice', $1, n, 0, 0, now() FROM generate_series(2, 200) n`, f.ids[0])
	d := f.report(t, "j1").GetDrifted()[0]
	if n := len(d.GetLaterEvents()); n != 64 {
		t.Errorf("%d later events", n)
	}
	for _, req := range []*settlementv1.ReportJobRequest{{TenantId: apptest.Tenant, JobId: "j2"}, {TenantId: "other", JobId: "j1"}} {
		_, err := f.Jobs.ReportJob(t.Context(), req)
		failure(t, err, codes.NotFound, "NOT_FOUND")
	}
	_, err := f.Jobs.ReportJob(t.Context(), &settlementv1.ReportJobRequest{TenantId: apptest.Tenant, JobId: fmt.Sprint("j ", 1)})
	invalid(t, err, "job_id")
}
