package cases_test

import (
	"net/http"
	"sync"
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// TestCallbacksAndPollsSettleOnce has the provider call back again and again while pollers see the same end, through two servers. One
// answer is applied, whoever brings it; all others find it there.
func TestCallbacksAndPollsSettleOnce(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	defer s.Verify(t)
	replica := s.replica(t)
	const copies = 10
	for _, end := range []fakeprovider.TaskStatus{fakeprovider.TaskSucceeded, fakeprovider.TaskFailed} {
		answers := make(chan *settlementv1.SettleResponse, 2*copies)
		j := job{id: string(end), life: lifeTime, callback: s.receive(t, answers)}
		calls := copies
		s.script(j.generation(1), fakeprovider.GenerationScript{End: fakeprovider.TaskPending, Callbacks: &calls})
		r := s.carry(t, "worker", j)
		g := line(t, r, j.generation(1))
		if err := s.provider.Finish(j.generation(1), end); err != nil {
			t.Fatal(err)
		}
		var polling sync.WaitGroup
		for range copies {
			polling.Go(func() {
				a, err := replica.settleBy(t.Context(), replica.client.Status(t.Context(), g.GetProviderTaskId()), poll)
				if err != nil {
					t.Error(err)
				}
				answers <- a
			})
		}
		polling.Wait()
		s.awaitCallbacks(t, j.generation(1), copies)
		wantOneApplied(t, answers)
	}
	s.WantBooks(t, apptest.Books{Credits: apptest.Credits - 10, Attempts: apptest.Attempts, Spent: 2 * generationCost})
	is(t, "entries", s.Entries(t, "succeeded", "COMPLETED")+s.Entries(t, "failed", "PROVIDER_FAILED"), 2)
}

// awaitCallbacks waits until so many callbacks were delivered.
func (s *studio) awaitCallbacks(t *testing.T, key string, n int64) {
	t.Helper()
	err := s.provider.Await(t.Context(), key, func(c fakeprovider.Counts) bool {
		return c.Generations.Callbacks+c.Generations.CallbacksFailed == n
	})
	if failures := s.provider.Counts(key).Generations.CallbacksFailed; err != nil || failures > 0 {
		t.Fatalf("%d callbacks failed: %v", failures, err)
	}
}

// wantOneApplied reads as many answers as the channel has room for.
func wantOneApplied(t *testing.T, answers <-chan *settlementv1.SettleResponse) {
	t.Helper()
	got := map[settlementv1.Disposition]int{}
	for range cap(answers) {
		got[(<-answers).GetDisposition()]++
	}
	is(t, "applied", got[applied], 1)
	is(t, "replayed", got[replayed], cap(answers)-1)
}

// receive takes callbacks, settles by them and passes the answers on.
func (s *studio) receive(t *testing.T, answers chan<- *settlementv1.SettleResponse) string {
	return listen(t, func(r *http.Request, o fakeprovider.Observation) error {
		a, err := s.settleBy(r.Context(), o, callback)
		if err == nil {
			answers <- a
		}
		return err
	})
}

// TestACallbackAloneSettlesNothingWherePollsDecide has a provider whose callbacks are not to be trusted lie about an end.
func TestACallbackAloneSettlesNothingWherePollsDecide(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0, func(p *settlementv1.PutProviderRequest) { p.AuthoritativeObserver = poll })
	defer s.Verify(t)
	answers := make(chan *settlementv1.SettleResponse, 1)
	j := job{id: "J", life: lifeTime, callback: s.receive(t, answers)}
	s.script(j.generation(1), fakeprovider.GenerationScript{End: fakeprovider.TaskPending})
	s.carry(t, "worker", j)
	for _, lie := range []fakeprovider.TaskStatus{fakeprovider.TaskSucceeded, fakeprovider.TaskFailed} {
		if _, err := s.provider.SendCallback(t.Context(), j.generation(1), lie); err != nil {
			t.Fatal(err)
		}
		a := <-answers
		wantAnswer(t, a, held, processing)
		is(t, "held for", a.GetHeldReason(), settlementv1.HeldReason_HELD_REASON_AWAITING_POLL)
	}
	s.WantExceptions(t, j.id)
}

// TestAnswersThatComeLateChangeNothing has a worker time out on a POST that the provider took, the job end by evidence, and then all that was
// late: the worker's doubt, the answer to the POST, and callbacks that contradict.
func TestAnswersThatComeLateChangeNothing(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	defer s.Verify(t)
	answers := make(chan *settlementv1.SettleResponse, 1)
	none := 0
	j := job{id: "J", life: lifeTime, callback: s.receive(t, answers)}
	key := j.generation(1)
	s.script(key, fakeprovider.GenerationScript{Answers: []fakeprovider.Answer{fakeprovider.HoldAfter}, Callbacks: &none})
	s.stopAt(t, "report", j) // it has timed out, and tells nobody yet
	found := s.client.Lookup(t.Context(), key)
	wantEnd(t, s.investigate(t, s.Get(t, j.id)).GetReservation(), endCompleted)
	ended := s.Copy(t)

	is(t, "the doubt", s.Settle(t, j.id, key, apptest.Uncertain()).GetDisposition(), replayed)
	is(t, "the doubt, reported", s.Report(t, j.id, key, apptest.Unsure()).GetDisposition(), replayed)
	is(t, "the answer", s.Report(t, j.id, key, apptest.Accepted(found.TaskID)).GetDisposition(), replayed)
	s.Unchanged(t, ended)
	for _, said := range []struct {
		status fakeprovider.TaskStatus
		want   settlementv1.Disposition
	}{{fakeprovider.TaskSucceeded, replayed}, {fakeprovider.TaskFailed, superseded}, {fakeprovider.TaskFailed, superseded}} {
		if _, err := s.provider.SendCallback(t.Context(), key, said.status); err != nil {
			t.Fatal(err)
		}
		a := <-answers
		is(t, "callback "+string(said.status), a.GetDisposition(), said.want)
		wantEnd(t, a.GetReservation(), endCompleted)
	}
	s.Unmoved(t, ended)
	s.WantExceptions(t, j.id, apptest.Exception{Key: key, Reason: "SUPERSEDED", Cost: generationCost, Count: 2})
}

// TestNotFoundAtFirstIsNotNotReceived asks for a request that the provider has, and does not find yet. Until it no longer could arrive that
// proves nothing, and then it is found.
func TestNotFoundAtFirstIsNotNotReceived(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	defer s.Verify(t)
	j := job{id: "J", life: lifeTime}
	key := j.generation(1)
	s.script(key, fakeprovider.GenerationScript{Answers: []fakeprovider.Answer{fakeprovider.ErrorAfter}, NotFoundPolls: 4, PendingPolls: 1})
	r := s.carry(t, "worker", j) // one look-up in vain
	is(t, "state", r.GetState(), uncertain)
	for range 2 {
		s.pass(permitTime)
		a := s.investigate(t, s.Get(t, j.id))
		wantRefused(t, a, tooEarly)
		l := line(t, s.Get(t, j.id), key)
		is(t, "last evidence", l.GetLastEvidence().GetKind(), settlementv1.EvidenceKind_EVIDENCE_KIND_STILL_UNKNOWN)
		is(t, "why", l.GetLastEvidence().GetCause(), settlementv1.UncertainCause_UNCERTAIN_CAUSE_NOT_FOUND_YET)
		is(t, "revision", s.Get(t, j.id).GetRevision(), r.GetRevision())
	}
	is(t, "still not found", s.carry(t, "second-worker", j).GetState(), uncertain)
	s.pass(permitTime + notReceivedTime)
	a := s.investigate(t, s.Get(t, j.id)) // found at last, and pending
	wantAnswer(t, a, applied, processing)
	wantLine(t, a.GetReservation(), key, lineAccepted)
	wantEnd(t, s.carry(t, "third-worker", j), endCompleted)
	is(t, "POSTs", s.provider.Counts(key).Generations.Received, 1)
}

// TestALostTaskIDIsFoundByTheKey has an answer lose its task id. The id is found by the key, belongs to this line only, and never changes.
func TestALostTaskIDIsFoundByTheKey(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	defer s.Verify(t)
	lost, other := job{id: "lost", life: lifeTime}, job{id: "other", life: lifeTime}
	s.script(lost.generation(1), fakeprovider.GenerationScript{Answers: []fakeprovider.Answer{fakeprovider.NoTaskID}, End: fakeprovider.TaskPending})
	s.script(other.generation(1), fakeprovider.GenerationScript{End: fakeprovider.TaskPending})
	s.stopAt(t, "look up", lost)
	task := line(t, s.carry(t, "worker", other), other.generation(1)).GetProviderTaskId()
	wantRefused(t, s.Report(t, lost.id, lost.generation(1), apptest.Accepted(task)), taskMismatch)
	wantRefused(t, s.Reconcile(t, lost.id, lost.generation(1), apptest.Running(task)), taskMismatch)
	is(t, "state", s.Get(t, lost.id).GetState(), uncertain)

	found := line(t, s.carry(t, "worker", lost), lost.generation(1))
	is(t, "knowledge", found.GetKnowledge(), lineAccepted)
	is(t, "task", found.GetProviderTaskId(), s.client.Lookup(t.Context(), lost.generation(1)).TaskID)
	wantRefused(t, s.Report(t, lost.id, lost.generation(1), apptest.Accepted("task-of-nobody")), taskMismatch)
	for _, j := range []job{lost, other} {
		if err := s.provider.Finish(j.generation(1), fakeprovider.TaskSucceeded); err != nil {
			t.Fatal(err)
		}
		wantEnd(t, s.carry(t, "last-worker", j), endCompleted)
	}
	is(t, "paid", s.provider.Totals().Generations.Paid, 2)
}
