package cases_test

import (
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// TestCase45WhatIsKnownOnlyGrows brings an uncertainty after the acceptance, and a success after the failure.
func TestCase45WhatIsKnownOnlyGrows(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	s.Report(t, "J", "K", apptest.Accepted("task"))
	before := s.Copy(t)
	r := wantAnswer(t, s.Settle(t, "J", "K", apptest.Uncertain()), replayed, processing)
	wantLine(t, r, "K", lineAccepted)
	wantAnswer(t, s.Report(t, "J", "K", apptest.Unsure()), replayed, processing)
	wantAnswer(t, s.Report(t, "J", "K", apptest.Accepted("task")), replayed, processing)
	s.Unchanged(t, before)

	r = wantAnswer(t, s.Report(t, "J", "K", apptest.EndedBadly(nil)), applied, pending)
	wantLine(t, r, "K", lineFailed)
	success := s.Report(t, "J", "K", apptest.EndedWell(nil))
	wantRefused(t, success, conflicting)
	wantLine(t, success.GetReservation(), "K", lineFailed)
	s.WantExceptions(t, "J", apptest.Exception{Key: "K", Reason: "CONFLICTING_FACT", Cost: -1, Count: 1})
}

// TestCase45ASettledFailureStandsAgainstALaterSuccess is the sibling in which the failure was settled.
func TestCase45ASettledFailureStandsAgainstALaterSuccess(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	s.Report(t, "J", "K", apptest.Accepted("task"))
	wantAnswer(t, s.Settle(t, "J", "K", apptest.Uncertain()), replayed, processing)
	wantAnswer(t, s.Settle(t, "J", "K", apptest.Failed(apptest.Money(0))), applied, failed)
	r := wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(apptest.Money(0))), superseded, failed)
	wantLine(t, r, "K", lineFailed)
	s.WantExceptions(t, "J", apptest.Exception{Key: "K", Reason: "SUPERSEDED", Cost: 0, Count: 1})
	s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2})
}

// TestCase46EveryCostCountsAtOnceAndTheHoldEndsLast has two attempts, of which the first one's cost stays unknown for longest.
func TestCase46EveryCostCountsAtOnceAndTheHoldEndsLast(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{true, false} { // the first one's cost becomes known while the job is open, or when it has ended
		s := seeded(t)
		s.Granted(t, "J", "K1")
		s.Report(t, "J", "K1", apptest.NotAccepted(nil))
		s.Permitted(t, apptest.Submission("J", "K2"))
		want := apptest.Books{Credits: 90, CreditsHeld: 10, Attempts: 2, Slots: 1, InFlight: 1, BudgetHeld: 200}
		if early {
			wantAnswer(t, s.Reconcile(t, "J", "K1", apptest.Costs(5)), applied, processing)
			want.Spent = 5
			s.WantBooks(t, want) // open: the hold stays whole
		}
		wantAnswer(t, s.Report(t, "J", "K2", apptest.EndedBadly(apptest.Money(37))), applied, pending)
		want.Spent += 37
		s.WantBooks(t, want)
		r := wantAnswer(t, s.Settle(t, "J", "K2", apptest.Failed(nil)), applied, failed)
		is(t, "unresolved", r.GetBudget().GetUnresolved(), !early)
		want = apptest.Books{Credits: 100, Attempts: 2, Spent: want.Spent}
		if !early {
			want.BudgetHeld = 200
			s.WantBooks(t, want)
			r = wantAnswer(t, s.Reconcile(t, "J", "K1", apptest.Costs(5)), applied, failed)
			is(t, "known cost", r.GetBudget().GetKnownCostMicros(), 42)
			want.BudgetHeld, want.Spent = 0, 42
		}
		s.WantBooks(t, want)
		s.Verify(t)
	}
}

// TestCase46AResumeKeepsTheHold learns that the first attempt never arrived: it cost nothing, and the second one needs the budget.
func TestCase46AResumeKeepsTheHold(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K1")
	s.TurnClock(2 * time.Minute)
	r := wantAnswer(t, s.Reconcile(t, "J", "K1", apptest.Resumed(600)), applied, pending)
	is(t, "cost of what never arrived", line(t, r, "K1").GetCost().String(), apptest.Money(0).String())
	s.WantBooks(t, apptest.Books{Credits: 90, CreditsHeld: 10, Attempts: 2, Slots: 1, InFlight: 1, BudgetHeld: 200})
	s.Permitted(t, apptest.Submission("J", "K2"))
	wantAnswer(t, s.Settle(t, "J", "K2", apptest.Completed(apptest.Money(150))), applied, completed)
	s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, Spent: 150})
}

// TestCase47ACancelWaitsForTheGeneration asks for a cancel while a generation may be alive, and then learns what became of it.
func TestCase47ACancelWaitsForTheGeneration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fact   func(s *apptest.Service) answer
		kind   settlementv1.OutcomeKind
		closed settlementv1.ClosingFact
		alive  bool // the fact needs an accepted generation, not an uncertain one
		want   apptest.Books
	}{
		"success": {func(s *apptest.Service) answer { return s.Settle(t, "J", "K", apptest.Completed(apptest.Money(0))) },
			endCompleted, 0, true, apptest.Books{Credits: 90, Attempts: 2}},
		"a rejected output": {func(s *apptest.Service) answer {
			return s.Settle(t, "J", "K", apptest.Rejected(apptest.Output, apptest.Money(0)))
		},
			endRejected, 0, true, apptest.Books{Credits: 100, Attempts: 2}},
		"an unavailable output check": {func(s *apptest.Service) answer { return s.Settle(t, "J", "K", apptest.Unavailable(apptest.Output)) },
			endUnavailable, 0, true, apptest.Books{Credits: 100, Attempts: 2, BudgetHeld: 200}},
		"failure": {func(s *apptest.Service) answer { return s.Settle(t, "J", "K", apptest.Failed(apptest.Money(0))) },
			endCancelled, settlementv1.ClosingFact_CLOSING_FACT_PROVIDER_FAILED, true, apptest.Books{Credits: 100, Attempts: 2}},
		"a reported failure": {func(s *apptest.Service) answer { return s.Report(t, "J", "K", apptest.EndedBadly(apptest.Money(0))) },
			endCancelled, settlementv1.ClosingFact_CLOSING_FACT_PROVIDER_FAILED, true, apptest.Books{Credits: 100, Attempts: 2}},
		"proof of failure": {func(s *apptest.Service) answer {
			return s.Reconcile(t, "J", "K", apptest.FailedThere(apptest.Money(0)))
		},
			endCancelled, settlementv1.ClosingFact_CLOSING_FACT_PROVIDER_FAILED, true, apptest.Books{Credits: 100, Attempts: 2}},
		"a refusal": {func(s *apptest.Service) answer { return s.Report(t, "J", "K", apptest.NotAccepted(apptest.Money(0))) },
			endCancelled, settlementv1.ClosingFact_CLOSING_FACT_PROVIDER_FAILED, false, apptest.Books{Credits: 100, Attempts: 2}},
		"not received": {func(s *apptest.Service) answer { return s.Reconcile(t, "J", "K", apptest.NotReceived()) },
			endCancelled, settlementv1.ClosingFact_CLOSING_FACT_NOT_RECEIVED, false, apptest.Books{Credits: 100, Attempts: 2}},
		"resume": {func(s *apptest.Service) answer { return s.Reconcile(t, "J", "K", apptest.Resumed(600)) },
			endCancelled, settlementv1.ClosingFact_CLOSING_FACT_NOT_RECEIVED, false, apptest.Books{Credits: 100, Attempts: 2}},
		"not sent": {func(s *apptest.Service) answer { return s.Report(t, "J", "K", apptest.Unsent("K")) },
			endCancelled, settlementv1.ClosingFact_CLOSING_FACT_NOT_SENT, false, apptest.Books{Credits: 100, Attempts: 2}},
		"given up": {func(s *apptest.Service) answer { return s.Reconcile(t, "J", "K", apptest.GivenUp()) },
			endCancelled, settlementv1.ClosingFact_CLOSING_FACT_GIVEN_UP, false, apptest.Books{Credits: 100, Attempts: 2, BudgetHeld: 200}},
	} {
		t.Run(name, func(t *testing.T) {
			s := seeded(t)
			defer s.Verify(t)
			s.Granted(t, "J", "K", long)
			state := uncertain
			if c.alive {
				state = processing
				s.Report(t, "J", "K", apptest.Accepted("task"))
			} else {
				s.Settle(t, "J", "K", apptest.Uncertain())
			}
			intend(t, s, state, settlementv1.PermitRefusal_PERMIT_REFUSAL_CANCEL_REQUESTED)
			s.TurnClock(5 * time.Minute)
			r := c.fact(s).GetReservation()
			wantEnd(t, r, c.kind)
			is(t, "closed by", r.GetOutcome().GetClosedBy(), c.closed)
			if c.kind == endCancelled {
				is(t, "reason", r.GetOutcome().GetReason(), apptest.Cancelled().GetReason())
			}
			s.WantBooks(t, c.want)
			after := s.Copy(t)
			wantAnswer(t, c.fact(s), replayed, r.GetState()) // the fact again
			s.Unchanged(t, after)
		})
	}
}

// intend asks for a cancel twice: it changes no state, the intent shows, and only the first one changes
// anything. A check of the input is not permitted any more.
func intend(t *testing.T, s *apptest.Service, state settlementv1.ReservationState, noCheck settlementv1.PermitRefusal) {
	t.Helper()
	before, books := s.Get(t, "J"), s.Books(t)
	resp := s.Settle(t, "J", "", apptest.Cancelled())
	r := wantAnswer(t, resp, held, state)
	is(t, "held for", resp.GetHeldReason(), settlementv1.HeldReason_HELD_REASON_GENERATION_UNSETTLED)
	is(t, "intent", r.GetCancelRequestedAt() != nil, true)
	is(t, "reason", r.GetCancelReason(), apptest.Cancelled().GetReason())
	is(t, "revision", r.GetRevision(), before.GetRevision()+1)
	after := s.Copy(t)
	wantAnswer(t, s.Settle(t, "J", "", &settlementv1.CancelledOutcome{Reason: "another one"}), held, state)
	wantNoPermit(t, s.Begin(t, apptest.Check("J", "C", apptest.Input)), noCheck)
	s.Unchanged(t, after)
	s.WantBooks(t, books)
}

// TestCase47ACancelBesideASuccessIsSettledByTheTable asks for a cancel when the result is there already.
func TestCase47ACancelBesideASuccessIsSettledByTheTable(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	s.Report(t, "J", "K", apptest.EndedWell(apptest.Money(90)))
	intend(t, s, processing, settlementv1.PermitRefusal_PERMIT_REFUSAL_ALREADY_SUCCEEDED)
	s.Permitted(t, apptest.Check("J", "CO", apptest.Output)) // its output may still be checked
	wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(nil), apptest.Checked("CO")), applied, completed)
	s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, BudgetHeld: 200, Spent: 90}) // the check's cost is unknown
}
