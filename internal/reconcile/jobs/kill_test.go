package jobs_test

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
	"github.com/settlementd/settlementd/internal/reconcile/jobs"
)

// Forty reservations are cancelled ten at a time, and the server that does it is killed at each point of each chunk in turn: sixteen deaths.
// Another one goes on. After every death the audit is the beginning of the manifest, what was not
// committed is gone, and what was committed stands; in the end each reservation was changed exactly once.
func TestResumeAfterKillAtEachPointOfEachChunk(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 40)
	f.approved(t, f.manifest(t, "j1", 10))
	done := 0
	for done < 40 {
		for _, point := range points {
			victim := start(t, f.DB, point)
			failed := make(chan error, 1)
			go func() {
				_, err := victim.Jobs.RunChunk(t.Context(), runOf("j1"))
				failed <- err
			}()
			victim.killedAt(t, point)
			if err := <-failed; status.Code(err) != codes.Unavailable {
				t.Errorf("killed at %s, the call ended with %v", point, err)
			}
			if point == jobs.AfterCommit {
				done += 10
			}
			f.wantPrefix(t, "j1", done)
			f.wantReport(t, "j1", map[string][]string{
				"approved": f.ids, "committed": f.ids[:done], "remaining": f.ids[done:], "matching": f.ids[:done],
			})
		}
	}
	heir := start(t, f.DB, "")
	chunks, sum, err := drain(t.Context(), heir.Service, "j1", 64)
	if err != nil || len(chunks) != 1 || !sum.GetDone() || sum.GetCalls() != 1 || len(sum.GetProcessed()) != 0 {
		t.Errorf("the heir: %v, %v, %v", chunks, sum, err)
	}
	f.changedOnce(t)
}

// A server that was killed at a point is followed by one that goes on to the end, whether or not it knows of the death.
func TestResumeAfterKillByAnotherServer(t *testing.T) {
	t.Parallel()
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 40)
			f.approved(t, f.manifest(t, "j1", 10))
			f.run(t, "j1") // the death is in the second chunk
			victim := start(t, f.DB, point)
			failed := make(chan error, 1)
			go func() {
				_, _, err := drain(t.Context(), victim.Service, "j1", 64)
				failed <- err
			}()
			victim.killedAt(t, point)
			if err := <-failed; status.Code(err) != codes.Unavailable {
				t.Errorf("the drain ended with %v", err)
			}
			stands := 10
			if point == jobs.AfterCommit {
				stands = 20
			}
			f.wantPrefix(t, "j1", stands)
			heir := start(t, f.DB, "")
			var processed []string
			for n := stands; n < 40; n += 10 {
				resp, err := heir.Jobs.RunChunk(t.Context(), runOf("j1"))
				if err != nil {
					t.Fatal(err)
				}
				if c := resp.GetChunk(); int(c.GetNextIndex()) != n+10 || c.GetDone() != (n == 30) {
					t.Errorf("the heir's chunk: %v", c)
				}
				processed = append(processed, idsOf(resp.GetChunk().GetProcessed())...)
			}
			if !slices.Equal(processed, f.ids[stands:]) {
				t.Errorf("the heir changed %q", processed)
			}
			f.wantPrefix(t, "j1", 40)
			f.changedOnce(t)
			if status := heir.terminate(t); status != 0 {
				t.Errorf("the heir ended with %d", status)
			}
		})
	}
}

// A server that freezes in the middle of a chunk holds its locks, and nothing else. The job and its reservations wait for it, until the database
// ends its session; then another server goes on.
func TestResumeAfterKillOfAFrozenServersSession(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 20)
	f.approved(t, f.manifest(t, "j1", 10))
	frozen := start(t, f.DB, jobs.AfterCheckpoint)
	failed := make(chan error, 1)
	go func() {
		_, err := frozen.Jobs.RunChunk(t.Context(), runOf("j1"))
		failed <- err
	}()
	if said := <-frozen.stdout; said != "stopped at "+jobs.AfterCheckpoint {
		t.Fatalf("the server said %q", said)
	}
	_, err := f.Jobs.RunChunk(t.Context(), runOf("j1"))
	failure(t, err, codes.Unavailable, "LEDGER_UNAVAILABLE")
	postgrestest.Until(t, "the job is free", func() bool {
		_, err := f.Jobs.GetJob(t.Context(), &settlementv1.GetJobRequest{TenantId: apptest.Tenant, JobId: "j1"})
		return err == nil
	})
	f.wantPrefix(t, "j1", 0)
	for _, n := range []int{10, 20} {
		if c := f.run(t, "j1"); int(c.GetNextIndex()) != n {
			t.Errorf("the heir's chunk: %v", c)
		}
	}
	frozen.killedNow(t)
	if err := <-failed; status.Code(err) != codes.Unavailable {
		t.Errorf("the frozen call ended with %v", err)
	}
	f.wantPrefix(t, "j1", 20)
	f.changedOnce(t)
}

// changedOnce finds that each reservation of the fleet was changed exactly once, and that its money is back where it came from.
func (f *fleet) changedOnce(t testing.TB) {
	t.Helper()
	for i, id := range f.ids {
		if r := f.Get(t, id); r.GetState() != cancelled || r.GetRevision() != 1 {
			t.Errorf("reservation %d is %v at revision %d", i, r.GetState(), r.GetRevision())
		}
	}
	type counts struct{ ends, changes int }
	got := counts{
		ends:    postgrestest.Value[int](f.DB, "SELECT count(*) FROM entries WHERE event_type = 'CANCELLED'"),
		changes: postgrestest.Value[int](f.DB, "SELECT count(*) FROM entries WHERE revision > 0"),
	}
	if want := (counts{len(f.ids), len(f.ids)}); got != want {
		t.Errorf("%s in the ledger, want %s", fmt.Sprint(got), fmt.Sprint(want))
	}
	f.WantBooks(t, apptest.Books{Credits: apptest.Credits + 1_000_000, Attempts: apptest.Attempts})
	f.Verify(t)
}
