package cases_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// TestCase16PollAndCallbackAtOnceReturnOnce sends one failure twenty times in parallel, through two servers, seen by different observers.
func TestCase16PollAndCallbackAtOnceReturnOnce(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	other := apptest.On(t, s.DB)
	for name, outcome := range map[string]any{
		"failed": apptest.Failed(nil), "completed": apptest.Completed(apptest.Money(9)), "rejected": apptest.Rejected(apptest.Output, nil),
	} {
		before := s.Books(t)
		s.Granted(t, name, "K-"+name)
		var mu sync.Mutex
		var calls sync.WaitGroup
		got := map[settlementv1.Disposition]int{}
		for i := range 20 {
			server, observer := s, poll
			if i%2 == 0 {
				server, observer = other, callback
			}
			calls.Go(func() {
				resp, err := server.Settlements.Settle(t.Context(), apptest.Settlement(name, "K-"+name, outcome, apptest.SeenBy(observer)))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				got[resp.GetDisposition()]++
			})
		}
		calls.Wait()
		if got[applied] != 1 || got[replayed] != 19 {
			t.Errorf("%s: %v, want one APPLIED and 19 REPLAYED", name, got)
		}
		is(t, name+" entries", s.Entries(t, name), 2)
		returned := int64(10)
		if name == "completed" {
			returned = 0
		}
		is(t, name+" returned", s.Books(t).Credits, before.Credits-10+returned)
		is(t, name+" held", s.Books(t).CreditsHeld, 0)
	}
}

// TestCase18ALateSuccessMovesNothingOfTheCustomer brings a success with its cost after the customer was made whole.
func TestCase18ALateSuccessMovesNothingOfTheCustomer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   func(*apptest.Service)
		state settlementv1.ReservationState
	}{
		"given up": {func(s *apptest.Service) {
			s.TurnClock(time.Hour)
			s.Reconcile(t, "J", "K", apptest.GivenUp())
		}, failed},
		"cancelled, then given up": {func(s *apptest.Service) {
			s.Settle(t, "J", "", apptest.Cancelled())
			s.TurnClock(time.Hour)
			s.Reconcile(t, "J", "K", apptest.GivenUp())
		}, cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			s := seeded(t)
			defer s.Verify(t)
			s.Granted(t, "J", "K", long)
			s.Settle(t, "J", "K", apptest.Uncertain())
			c.end(s)
			is(t, "state", s.Get(t, "J").GetState(), c.state)
			s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2, BudgetHeld: 200})
			for range 2 {
				r := wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(apptest.Money(250))), superseded, c.state)
				wantLine(t, r, "K", lineSucceeded)
				is(t, "cost of the line", line(t, r, "K").GetCost().GetAmountMicros(), 250)
				s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2, Spent: 250})
			}
			s.WantExceptions(t, "J", apptest.Exception{Key: "K", Reason: "SUPERSEDED", Cost: 250, Count: 2})
		})
	}
}

// TestCase18ACostOfAnUnknownAttemptIsKept cancels a job with nothing journaled, and one whose request was never sent.
func TestCase18ACostOfAnUnknownAttemptIsKept(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J1", "")
	wantAnswer(t, s.Settle(t, "J1", "", apptest.Cancelled()), applied, cancelled)
	wantRefused(t, s.Settle(t, "J1", "K1", apptest.Completed(apptest.Money(250))), unknownAttempt)
	s.WantExceptions(t, "J1", apptest.Exception{Key: "K1", Reason: "UNKNOWN_ATTEMPT", Cost: 250, Count: 1})

	s.Granted(t, "J2", "K2")
	wantAnswer(t, s.Settle(t, "J2", "", apptest.Cancelled(), apptest.NotSent("K2")), applied, cancelled)
	wantAnswer(t, s.Settle(t, "J2", "K2", apptest.Completed(apptest.Money(250))), superseded, cancelled)
	s.WantExceptions(t, "J2",
		apptest.Exception{Key: "K2", Reason: "COST_CONFLICT", Cost: 250, Count: 1},
		apptest.Exception{Key: "K2", Reason: "SUPERSEDED", Cost: 250, Count: 1})
	s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2})
}

// TestCase19OnlyDefiniteEvidenceClosesAnUncertainJob brings everything that proves nothing, and then what does.
func TestCase19OnlyDefiniteEvidenceClosesAnUncertainJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proof any
		state settlementv1.ReservationState
		want  apptest.Books
	}{
		"succeeded": {apptest.Succeeded(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_PASSED, apptest.Money(90)), completed,
			apptest.Books{Credits: 80, CreditsHeld: 10, Attempts: 2, Slots: 1, InFlight: 1, BudgetHeld: 200, Spent: 90}},
		"failed": {apptest.FailedThere(apptest.Money(90)), failed,
			apptest.Books{Credits: 90, CreditsHeld: 10, Attempts: 2, Slots: 1, InFlight: 1, BudgetHeld: 200, Spent: 90}},
	} {
		t.Run(name, func(t *testing.T) {
			s := seeded(t)
			defer s.Verify(t)
			s.Granted(t, "neighbour", "KN")
			s.Report(t, "neighbour", "KN", apptest.Accepted("task-n"))
			s.Granted(t, "J", "K")
			wantAnswer(t, s.Settle(t, "J", "K", apptest.Uncertain()), applied, uncertain)
			before := s.Books(t)
			for _, cause := range []settlementv1.UncertainCause{
				settlementv1.UncertainCause_UNCERTAIN_CAUSE_TIMEOUT, settlementv1.UncertainCause_UNCERTAIN_CAUSE_SERVER_ERROR,
				settlementv1.UncertainCause_UNCERTAIN_CAUSE_NOT_FOUND_YET, settlementv1.UncertainCause_UNCERTAIN_CAUSE_RUNNING,
			} {
				revision := s.Get(t, "J").GetRevision()
				r := wantAnswer(t, s.Reconcile(t, "J", "K", apptest.StillUnknown(cause)), applied, uncertain)
				is(t, "last evidence", line(t, r, "K").GetLastEvidence().GetCause(), cause)
				is(t, "revision", r.GetRevision(), revision)
			}
			s.TurnClock(5 * time.Second)
			wantRefused(t, s.Reconcile(t, "J", "K", apptest.NotReceived()), tooEarly)
			wantRefused(t, s.Reconcile(t, "J", "K", apptest.GivenUp()), tooEarly)
			wantRefused(t, s.Reconcile(t, "J", "K", apptest.Running("task-n")), taskMismatch)
			wantRefused(t, s.Reconcile(t, "J", "KN", c.proof), unknownAttempt)
			is(t, "state", s.Get(t, "J").GetState(), uncertain)
			s.WantBooks(t, before)
			is(t, "events", s.Entries(t, "J"), 2)

			wantAnswer(t, s.Reconcile(t, "J", "K", c.proof), applied, c.state)
			wantAnswer(t, s.Reconcile(t, "J", "K", c.proof), replayed, c.state)
			s.WantBooks(t, c.want)
		})
	}
}

// TestCase20ALateCallbackOfTheFirstAttemptLeavesTheSecondAlone has the provider refuse one attempt, and a second one run.
func TestCase20ALateCallbackOfTheFirstAttemptLeavesTheSecondAlone(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K1")
	s.Report(t, "J", "K1", apptest.NotAccepted(apptest.Money(0)))
	s.Permitted(t, apptest.Submission("J", "K2"))
	for n, accepted := range []bool{false, true} {
		if accepted {
			s.Report(t, "J", "K2", apptest.Accepted("task-2"))
		}
		before := s.Copy(t)
		for _, outcome := range []any{apptest.Failed(nil), apptest.Completed(nil), apptest.Rejected(apptest.Output, nil), apptest.Unavailable(apptest.Output)} {
			wantRefused(t, s.Settle(t, "J", "K1", outcome, apptest.SeenBy(callback)), staleAttempt)
			_, err := s.Settlements.Settle(t.Context(), apptest.Settlement("J", "", outcome, apptest.SeenBy(callback)))
			wantStatus(t, err, codes.InvalidArgument, "request_key")
		}
		s.Unmoved(t, before)
		for _, e := range s.Exceptions(t, "J") {
			is(t, "exception", fmt.Sprint(e.Key, e.Reason, e.Count), fmt.Sprint("K1", "STALE_ATTEMPT", n+1))
		}
		is(t, "exceptions", len(s.Exceptions(t, "J")), 4)
	}
	wantAnswer(t, s.Settle(t, "J", "K2", apptest.Completed(apptest.Money(90))), applied, completed)
	s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, Spent: 90})
}

// TestCase16ACallbackAloneSettlesNothingWhereThePollDecides has both see the end of one job, the callback first and last.
func TestCase16ACallbackAloneSettlesNothingWhereThePollDecides(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.AuthoritativeObserver = poll })
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	s.Report(t, "J", "K", apptest.Accepted("task"))
	before := s.Copy(t)
	for _, outcome := range []any{apptest.Completed(nil), apptest.Failed(nil), apptest.Rejected(apptest.Output, nil), apptest.Unavailable(apptest.Output)} {
		resp := s.Settle(t, "J", "K", outcome, apptest.SeenBy(callback))
		wantAnswer(t, resp, held, processing)
		is(t, "held for", resp.GetHeldReason(), settlementv1.HeldReason_HELD_REASON_AWAITING_POLL)
	}
	s.Unchanged(t, before)
	r := wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(apptest.Money(90)), apptest.SeenBy(callback)), held, processing)
	is(t, "a first-known cost is known all the same", line(t, r, "K").GetCost().GetAmountMicros(), 90)
	wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(nil), apptest.SeenBy(poll)), applied, completed)
	wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(nil), apptest.SeenBy(callback)), replayed, completed)
	s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, Spent: 90})
}
