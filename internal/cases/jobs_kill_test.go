package cases_test

import (
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// faultPoints are where a chunk can be stopped.
var faultPoints = []string{"after-orders", "after-audit", "after-checkpoint", "after-commit"}

// Twenty-five targets go by tens, and the server is killed at every point of each of the three chunks, the last one too: behind its COMMIT
// nothing remains but to say "done". The job is registered again after every death. In the end each target was changed once, and the counts
// are a recount of the audit.
func TestCase35KilledAtEveryPointEachTargetChangesOnce(t *testing.T) {
	t.Parallel()
	x, ids := fleet(t, 25)
	m := plan(t, x.Service, "job", cancelling, 10).GetManifest()
	approve(t, x.Service, m)
	for done := 0; done < len(ids); {
		for _, point := range faultPoints {
			p := x.serveUntil(point)
			failed := make(chan error, 1)
			go func() {
				_, err := runChunk(t, p.Service, "job")
				failed <- err
			}()
			<-p.stopped
			p.kill()
			if err := <-failed; status.Code(err) != codes.Unavailable {
				t.Errorf("killed %s, the call ended with %v", point, err)
			}
			if point == "after-commit" {
				done = min(done+10, len(ids))
			}
			wantAudit(t, x.Service, "job", ids[:done], endCancelled)
			again, err := x.Jobs.RegisterJob(t.Context(), registering(m))
			if err != nil || !again.GetReplayed() || int(again.GetJob().GetNextIndex()) != done {
				t.Errorf("registered again: %v, %v", again, err)
			}
		}
	}
	c, err := runChunk(t, x.Service, "job")
	if err != nil || len(c.GetProcessed()) > 0 || !c.GetDone() || int(c.GetNextIndex()) != len(ids) {
		t.Errorf("the job that nobody had called done: %v, %v", c, err)
	}
	for _, id := range ids {
		is(t, "the revision of "+id, x.Get(t, id).GetRevision(), 1)
	}
	x.whole()
}

// Two servers run the same job at once while it is registered over and over. What the two say that they changed is together the audit.
func TestCase35TwoRunnersShareAJob(t *testing.T) {
	t.Parallel()
	x, ids := fleet(t, 25)
	m := plan(t, x.Service, "job", cancelling, 1).GetManifest()
	approve(t, x.Service, m)
	told := make([][]string, 2)
	var wg sync.WaitGroup
	for i := range told {
		p := x.serve()
		wg.Go(func() {
			for done := false; !done; {
				c, err := runChunk(t, p.Service, "job")
				if err != nil && status.Code(err) != codes.Unavailable { // who waits too long for the other is told so
					t.Error(err)
					return
				}
				for _, target := range c.GetProcessed() {
					told[i] = append(told[i], target.GetReservationId())
				}
				done = c.GetDone()
				if again, err := x.Jobs.RegisterJob(t.Context(), registering(m)); err != nil || !again.GetReplayed() {
					t.Errorf("registered again: %v, %v", again, err)
				}
			}
		})
	}
	wg.Wait()
	if union := slices.Sorted(slices.Values(slices.Concat(told...))); !slices.Equal(union, ids) {
		t.Errorf("the two changed %q", union)
	}
	wantAudit(t, x.Service, "job", ids, endCancelled)
	for _, id := range ids {
		is(t, "the revision of "+id, x.Get(t, id).GetRevision(), 1)
	}
	x.whole()
}
