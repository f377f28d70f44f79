package cases_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

const granted = settlementv1.PermitKind_PERMIT_KIND_GRANTED

// withToken asks the same under another token.
func withToken(req *settlementv1.BeginSubmissionRequest, token string) *settlementv1.BeginSubmissionRequest {
	other := clone(req)
	other.PermitToken = token
	return other
}

// wantAlreadyGranted expects no permit, but what is known of the line.
func wantAlreadyGranted(t *testing.T, resp *settlementv1.BeginSubmissionResponse, k settlementv1.Knowledge) {
	t.Helper()
	if resp.GetAlreadyGranted() == nil || resp.GetAlreadyGranted().GetKnowledge() != k {
		t.Errorf("got %v, want already_granted with %v", resp.GetResult(), k)
	}
}

// wantNoPermit expects a refusal.
func wantNoPermit(t *testing.T, resp *settlementv1.BeginSubmissionResponse, why settlementv1.PermitRefusal) {
	t.Helper()
	if resp.GetPermit() != nil || resp.GetRefused() != why {
		t.Errorf("got %v, want %v", resp.GetResult(), why)
	}
}

// TestCase42ALostPermitIsGrantedAgainToItsTokenOnly loses the answer of BeginSubmission, and asks again with the same token, with another
// one, and when the permit is over.
func TestCase42ALostPermitIsGrantedAgainToItsTokenOnly(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	now := time.Now()
	s.StopClock(now)
	s.Granted(t, "J", "")
	req := apptest.Submission("J", "K")
	is(t, "time of the first permit", s.Permitted(t, req).GetExpiresInMs(), 30_000)
	before := s.Copy(t)
	s.StopClock(now.Add(29_999 * time.Millisecond))
	again := s.Permitted(t, req)
	is(t, "kind", again.GetKind(), granted)
	is(t, "time of the same permit", again.GetExpiresInMs(), 1)
	wantAlreadyGranted(t, s.Begin(t, withToken(req, "another")), settlementv1.Knowledge_KNOWLEDGE_PERMITTED)
	s.StopClock(now.Add(30 * time.Second))
	wantAlreadyGranted(t, s.Begin(t, req), settlementv1.Knowledge_KNOWLEDGE_PERMITTED)
	s.Unchanged(t, before)
	s.Report(t, "J", "K", apptest.Accepted("task"))
	wantAlreadyGranted(t, s.Begin(t, req), lineAccepted)
}

// TestCase42TheSameForReserveWithAKey loses the answer of a Reserve that asked for a permit.
func TestCase42TheSameForReserveWithAKey(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	now := time.Now()
	s.StopClock(now)
	req := apptest.Reserve("J", "K")
	is(t, "time of the first permit", reserve(t, s, req).GetGranted().GetPermit().GetExpiresInMs(), 30_000)
	before := s.Copy(t)
	s.StopClock(now.Add(20 * time.Second))
	again := reserve(t, s, req).GetGranted()
	is(t, "replayed", again.GetReplayed(), true)
	is(t, "time of the same permit", again.GetPermit().GetExpiresInMs(), 10_000)
	other := clone(req)
	other.Submission.PermitToken = "another"
	if p := reserve(t, s, other).GetGranted().GetPermit(); p != nil {
		t.Errorf("another token: %v", p)
	}
	wantAlreadyGranted(t, s.Begin(t, withToken(apptest.Submission("J", "K"), "another")), settlementv1.Knowledge_KNOWLEDGE_PERMITTED)
	s.StopClock(now.Add(30 * time.Second))
	if p := reserve(t, s, req).GetGranted().GetPermit(); p != nil {
		t.Errorf("the same token after the permit's end: %v", p)
	}
	s.Unchanged(t, before)
}

// TestCase42APermitIsNotGrantedAgainWhereNoneCouldBe asks again with the living permit's token, after a cancel was asked for.
func TestCase42APermitIsNotGrantedAgainWhereNoneCouldBe(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	wantAnswer(t, s.Settle(t, "J", "", apptest.Cancelled()), held, processing)
	wantNoPermit(t, s.Begin(t, apptest.Submission("J", "K")), settlementv1.PermitRefusal_PERMIT_REFUSAL_CANCEL_REQUESTED)
	if p := reserve(t, s, apptest.Reserve("J", "K")).GetGranted().GetPermit(); p != nil {
		t.Errorf("a replayed Reserve: %v", p)
	}
}

// TestCase42TwoWorkersPostOnce has many workers ask for the permit of one key at once, each with its own token and through two servers.
func TestCase42TwoWorkersPostOnce(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	servers := []*apptest.Service{s, apptest.On(t, s.DB)}
	s.Granted(t, "J", "")
	var posts atomic.Int64
	var workers sync.WaitGroup
	for i := range 20 {
		workers.Go(func() {
			req := withToken(apptest.Submission("J", "K"), string(rune('a'+i)))
			for range 2 { // the second call stands for a lost answer
				resp, err := servers[i%2].Reservations.BeginSubmission(t.Context(), req)
				if err != nil {
					t.Error(err)
				}
				if resp.GetPermit() != nil {
					posts.Add(1)
				}
			}
		})
	}
	workers.Wait()
	is(t, "permits, each told twice to its one holder", posts.Load(), 2)
	is(t, "events", s.Entries(t, "J", "PERMITTED"), 1)
}

// TestCase43AFrozenWorkerDoesNotPost freezes a worker between permit and POST. Nobody else goes on until its POST can no longer happen.
func TestCase43AFrozenWorkerDoesNotPost(t *testing.T) {
	t.Parallel()
	s := seeded(t) // permits live 30 seconds; what was sent arrives within 60
	defer s.Verify(t)
	now := time.Now()
	s.StopClock(now)
	s.Granted(t, "J", "K1")
	for _, early := range []time.Duration{0, 30 * time.Second, 90*time.Second - time.Microsecond} {
		s.StopClock(now.Add(early))
		before := s.Copy(t)
		wantRefused(t, s.Reconcile(t, "J", "K1", apptest.Resumed(600)), tooEarly)
		wantRefused(t, s.Reconcile(t, "J", "K1", apptest.NotReceived()), tooEarly)
		wantRefused(t, s.Reconcile(t, "J", "K1", apptest.GivenUp()), tooEarly)
		wantNoPermit(t, s.Begin(t, apptest.Submission("J", "K2")), settlementv1.PermitRefusal_PERMIT_REFUSAL_UNRESOLVED)
		s.Unchanged(t, before)
	}
	s.StopClock(now.Add(90 * time.Second))
	r := wantAnswer(t, s.Reconcile(t, "J", "K1", apptest.Resumed(600)), applied, pending)
	is(t, "deadline", r.GetDeadline().AsTime(), r.GetUpdatedAt().AsTime().Add(600*time.Second))
	wantAnswer(t, s.Reconcile(t, "J", "K1", apptest.Resumed(600)), replayed, pending)
	s.Permitted(t, apptest.Submission("J", "K2"))

	wantAlreadyGranted(t, s.Begin(t, apptest.Submission("J", "K1")), lineNotReceived) // the first worker wakes, and asks
	late := s.Report(t, "J", "K1", apptest.Accepted("task-1"))                        // had it posted all the same, that would show, and be kept
	s.WantExceptions(t, "J", apptest.Exception{Key: "K1", Reason: "CONFLICTING_FACT", Cost: -1, Count: 1})
	is(t, "task", wantLine(t, late.GetReservation(), "K1", lineNotReceived).GetProviderTaskId(), "task-1")
	wantLine(t, late.GetReservation(), "K2", settlementv1.Knowledge_KNOWLEDGE_PERMITTED)
}

// TestCase43ANewSendingWaitsAnew has a worker resend: its new permit is what evidence must wait for.
func TestCase43ANewSendingWaitsAnew(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.NotReceivedAfterSeconds, r.IdempotencyKeySeconds = 60, 600 })
	defer s.Verify(t)
	now := time.Now()
	s.StopClock(now)
	s.Granted(t, "J", "K")
	s.StopClock(now.Add(80 * time.Second))
	again := s.Permitted(t, apptest.Resend("J", "K"))
	is(t, "kind", again.GetKind(), settlementv1.PermitKind_PERMIT_KIND_RESEND)
	is(t, "time", again.GetExpiresInMs(), 30_000)
	s.StopClock(now.Add(170*time.Second - time.Microsecond))
	wantRefused(t, s.Reconcile(t, "J", "K", apptest.NotReceived()), tooEarly)
	s.StopClock(now.Add(170 * time.Second))
	wantEnd(t, wantAnswer(t, s.Reconcile(t, "J", "K", apptest.NotReceived()), applied, failed), endNotReceived)
}

// TestCase44AKeyIsOneRequestOfOneReservation uses a key again where it must not be.
func TestCase44AKeyIsOneRequestOfOneReservation(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J1", "K1")
	s.Granted(t, "J2", "")
	s.Permitted(t, apptest.Check("J1", "C1", apptest.Input)) // while the generation runs
	s.Report(t, "J1", "K1", apptest.EndedWell(nil))
	before := s.Copy(t)
	wantNoPermit(t, s.Begin(t, apptest.Submission("J1", "K2")), settlementv1.PermitRefusal_PERMIT_REFUSAL_ALREADY_SUCCEEDED)
	wantNoPermit(t, s.Begin(t, apptest.Check("J1", "C2", apptest.Input)), settlementv1.PermitRefusal_PERMIT_REFUSAL_ALREADY_SUCCEEDED)
	wantNoPermit(t, s.Begin(t, apptest.Submission("J2", "K1")), settlementv1.PermitRefusal_PERMIT_REFUSAL_KEY_OF_ANOTHER_RESERVATION)
	wantNoPermit(t, s.Begin(t, apptest.Resend("J2", "K1")), settlementv1.PermitRefusal_PERMIT_REFUSAL_KEY_OF_ANOTHER_RESERVATION)
	wantNoPermit(t, s.Begin(t, apptest.Check("J2", "K1", apptest.Input)), settlementv1.PermitRefusal_PERMIT_REFUSAL_KEY_OF_ANOTHER_RESERVATION)
	wantNoPermit(t, s.Begin(t, apptest.Check("J1", "K1", apptest.Output)), settlementv1.PermitRefusal_PERMIT_REFUSAL_KEY_OF_ANOTHER_KIND)
	wantNoPermit(t, s.Begin(t, apptest.Submission("J1", "C1")), settlementv1.PermitRefusal_PERMIT_REFUSAL_KEY_OF_ANOTHER_KIND)
	wantNoPermit(t, s.Begin(t, apptest.Check("J1", "C1", apptest.Output)), settlementv1.PermitRefusal_PERMIT_REFUSAL_KEY_OF_ANOTHER_KIND)
	resp, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("J3", "K1"))
	denial(t, resp, err, settlementv1.DenialReason_DENIAL_REASON_KEY_OF_ANOTHER_RESERVATION)
	s.Unchanged(t, before)
	s.Permitted(t, apptest.Check("J1", "C3", apptest.Output)) // the output of a success may be checked
	s.Permitted(t, apptest.Submission("J2", "K2"))
}
