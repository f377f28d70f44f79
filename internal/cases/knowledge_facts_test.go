package cases_test

import (
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// TestCase50WhatWasTakenStands takes credits for want of an attempt, and has an attempt granted afterwards.
func TestCase50WhatWasTakenStands(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	useAttempts(t, s)
	first := s.Granted(t, "J", "K", attemptOr(5))
	is(t, "taken", first.GetReservation().GetCredit().GetTaken(), 5)
	is(t, "of", first.GetReservation().GetCredit().GetTakenUnit(), settlementv1.Unit_UNIT_CREDITS)
	grantAttempts(t, s, 1)
	before := s.Copy(t)
	wantGrant(t, first, reserve(t, s, apptest.Reserve("J", "K", attemptOr(5))).GetGranted())
	s.Unchanged(t, before)
	next := s.Granted(t, "J2", "K2", attemptOr(5)).GetReservation().GetCredit()
	is(t, "of, with an attempt there", next.GetTakenUnit(), settlementv1.Unit_UNIT_FREE_ATTEMPTS)
	wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(apptest.Money(0))), applied, completed)
	wantAnswer(t, s.Settle(t, "J2", "K2", apptest.Failed(apptest.Money(0))), applied, failed)
	s.WantBooks(t, apptest.Books{Credits: 95, Attempts: 1, AttemptsHeld: 2, Slots: 2, InFlight: 2, BudgetHeld: 400})
}

// TestCase50AChargeFitsTheHoldOrIsRefused charges more than was held, and a free attempt.
func TestCase50AChargeFitsTheHoldOrIsRefused(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "credits", "K1")
	s.Granted(t, "attempt", "K2", freeAttempt)
	before := s.Copy(t)
	wantRefused(t, s.Settle(t, "credits", "K1", apptest.Charged(11, nil)), settlementv1.RefusedReason_REFUSED_REASON_CHARGE_EXCEEDS_HOLD)
	for _, charge := range []int64{0, 1, 2} {
		wantRefused(t, s.Settle(t, "attempt", "K2", apptest.Charged(charge, nil)), settlementv1.RefusedReason_REFUSED_REASON_CHARGE_NOT_APPLICABLE)
	}
	s.Unmoved(t, before)
	r := wantAnswer(t, s.Settle(t, "credits", "K1", apptest.Charged(4, apptest.Money(0))), applied, completed)
	is(t, "captured and returned", [2]int64{r.GetCredit().GetCaptured(), r.GetCredit().GetReturned()}, [2]int64{4, 6})
	wantAnswer(t, s.Settle(t, "attempt", "K2", apptest.Completed(apptest.Money(0))), applied, completed)
	s.WantBooks(t, apptest.Books{Credits: 96, Attempts: 1})
}

// TestCase50AnOutputCheckIsDemandedWhereItWasStamped completes without the check that the provider's jobs need.
func TestCase50AnOutputCheckIsDemandedWhereItWasStamped(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.OutputCheckRequired = true })
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	unchecked := apptest.Completed(nil)
	unchecked.OutputCheck = settlementv1.OutputCheck_OUTPUT_CHECK_NOT_REQUIRED
	before := s.Copy(t)
	wantRefused(t, s.Settle(t, "J", "K", unchecked), settlementv1.RefusedReason_REFUSED_REASON_OUTPUT_CHECK_REQUIRED)
	proof := apptest.Succeeded(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_NOT_REQUIRED, nil)
	wantRefused(t, s.Reconcile(t, "J", "K", proof), settlementv1.RefusedReason_REFUSED_REASON_OUTPUT_CHECK_REQUIRED)
	s.Unmoved(t, before)
	wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(nil)), applied, completed)
}

func takesKeys(r *settlementv1.PutProviderRequest) { r.IdempotencyKeySeconds = 3600 }

// TestCase52NothingTakesAnAcceptanceBack claims after the callback's acceptance that the provider never had the request.
func TestCase52NothingTakesAnAcceptanceBack(t *testing.T) {
	t.Parallel()
	s := seeded(t, takesKeys)
	defer s.Verify(t)
	s.Granted(t, "J", "K", long)
	s.Permitted(t, apptest.Resend("J", "K"))
	s.Report(t, "J", "K", apptest.Accepted("task"))
	s.TurnClock(10 * time.Minute)
	before := s.Copy(t)
	wantRefused(t, s.Reconcile(t, "J", "K", apptest.NotReceived()), conflicting) // a 404
	wantRefused(t, s.Reconcile(t, "J", "K", apptest.Resumed(600)), conflicting)
	wantRefused(t, s.Report(t, "J", "K", apptest.NotAccepted(nil)), conflicting) // a refusal of the resend
	wantRefused(t, s.Report(t, "J", "K", apptest.Unsent("K")), conflicting)
	wantRefused(t, s.Settle(t, "J", "", apptest.Cancelled(), apptest.NotSent("K")), conflicting)
	wantNoPermit(t, s.Begin(t, apptest.Submission("J", "K2")), settlementv1.PermitRefusal_PERMIT_REFUSAL_UNRESOLVED)
	wantAlreadyGranted(t, s.Begin(t, apptest.Resend("J", "K")), lineAccepted)
	s.Unmoved(t, before)
	is(t, "state", s.Get(t, "J").GetState(), processing)
}

// TestCase52NotSentIsNoAnswerAfterAResend has somebody else send the request again: its first holder no longer speaks for it.
func TestCase52NotSentIsNoAnswerAfterAResend(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.IdempotencyKeySeconds = 60 })
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	s.Settle(t, "J", "K", apptest.Uncertain())
	is(t, "kind", s.Permitted(t, withToken(apptest.Resend("J", "K"), "another")).GetKind(), settlementv1.PermitKind_PERMIT_KIND_RESEND)
	before := s.Copy(t)
	wantRefused(t, s.Report(t, "J", "K", apptest.Unsent("K")), conflicting)
	for _, outcome := range []any{apptest.Cancelled(), apptest.Rejected(apptest.Input, nil), apptest.Unavailable(apptest.Input)} {
		wantRefused(t, s.Settle(t, "J", "", outcome, apptest.NotSent("K")), conflicting)
	}
	s.Unmoved(t, before)
	s.TurnClock(time.Minute)
	wantAlreadyGranted(t, s.Begin(t, apptest.Resend("J", "K")), lineUncertain) // the provider has forgotten the key
}

// sentTwice has the answer to a request get lost, and somebody else send it again under its key.
func sentTwice(t *testing.T, s *apptest.Service, id, key string) {
	t.Helper()
	s.Granted(t, id, key, long)
	s.Settle(t, id, key, apptest.Uncertain())
	s.Permitted(t, withToken(apptest.Resend(id, key), "another"))
}

// TestCase52ARefusalIsNoAnswerAfterAResend has one of two POSTs refused, by a rate limit say. The other may have been billed, so there is no
// permit for a second key, cancelled or not, until evidence tells.
func TestCase52ARefusalIsNoAnswerAfterAResend(t *testing.T) {
	t.Parallel()
	s := seeded(t, takesKeys)
	defer s.Verify(t)
	sentTwice(t, s, "J", "K")
	s.Granted(t, "J2", "L", long)
	s.Permitted(t, withToken(apptest.Resend("J2", "L"), "another")) // of the first worker nothing was heard
	before := s.Copy(t)
	for _, cost := range []*settlementv1.Money{nil, apptest.Money(0)} { // the refusal cost nothing, and the other POST perhaps something
		wantRefused(t, s.Report(t, "J", "K", apptest.NotAccepted(cost)), conflicting)
		wantRefused(t, s.Report(t, "J2", "L", apptest.NotAccepted(cost)), conflicting)
	}
	wantNoPermit(t, s.Begin(t, apptest.Submission("J", "K2")), settlementv1.PermitRefusal_PERMIT_REFUSAL_UNRESOLVED)
	wantNoPermit(t, s.Begin(t, apptest.Submission("J2", "L2")), settlementv1.PermitRefusal_PERMIT_REFUSAL_UNRESOLVED)
	s.Unmoved(t, before)
	s.WantExceptions(t, "J", apptest.Exception{Key: "K", Reason: "CONFLICTING_FACT", Cost: -1, Count: 2})

	wantAnswer(t, s.Settle(t, "J2", "", apptest.Cancelled()), held, processing)
	wantRefused(t, s.Report(t, "J2", "L", apptest.NotAccepted(nil)), conflicting)
	is(t, "state", s.Get(t, "J2").GetState(), processing)
	s.TurnClock(10 * time.Minute)
	wantAnswer(t, s.Reconcile(t, "J2", "L", apptest.NotReceived()), applied, cancelled)
	wantAnswer(t, s.Reconcile(t, "J", "K", apptest.Resumed(600)), applied, pending)
	s.Permitted(t, apptest.Submission("J", "K2"))
}

// TestCase52ARefusalThatCostsIsSpentAfterAResend has the refusal of one of two POSTs cost money: it is spent, once, and who has charged for
// a request has received it. Everything that is definite closes the attempt and ends the hold.
func TestCase52ARefusalThatCostsIsSpentAfterAResend(t *testing.T) {
	t.Parallel()
	s := seeded(t, takesKeys)
	defer s.Verify(t)
	worked := apptest.Succeeded(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_NOT_REQUIRED, apptest.Money(90))
	for n, closing := range []struct {
		id    string
		state settlementv1.ReservationState
		close func(id, key string) answer
	}{
		{"proved-to-have-failed", failed, func(id, key string) answer { return s.Reconcile(t, id, key, apptest.FailedThere(nil)) }},
		{"given-up", failed, func(id, key string) answer { return s.Reconcile(t, id, key, apptest.GivenUp()) }},
		{"settled", failed, func(id, key string) answer { return s.Settle(t, id, key, apptest.Failed(nil)) }},
		{"proved-to-have-worked", completed, func(id, key string) answer { return s.Reconcile(t, id, key, worked) }},
		{"reported-to-have-failed", pending, func(id, key string) answer { return s.Report(t, id, key, apptest.EndedBadly(nil)) }},
	} {
		id, key := closing.id, "K-"+closing.id
		sentTwice(t, s, id, key)
		for range 2 {
			wantRefused(t, s.Report(t, id, key, apptest.NotAccepted(apptest.Money(7))), conflicting)
		}
		is(t, "spent", s.Books(t).Spent, int64(7*(n+1)))
		s.TurnClock(time.Duration(n+1) * 10 * time.Minute)
		for _, never := range []any{apptest.NotReceived(), apptest.Resumed(600)} {
			wantRefused(t, s.Reconcile(t, id, key, never), conflicting)
		}
		wantAnswer(t, closing.close(id, key), applied, closing.state)
	}
	s.Permitted(t, apptest.Submission("reported-to-have-failed", "K2"))
	s.WantBooks(t, apptest.Books{Credits: 80, CreditsHeld: 10, Attempts: 2, Slots: 1, InFlight: 1, BudgetHeld: 200, Spent: 5 * 7})
}

// TestCase52OnlyTheHolderSaysThatNothingWasSent brings the wrong token.
func TestCase52OnlyTheHolderSaysThatNothingWasSent(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	before := s.Copy(t)
	holder := settlementv1.RefusedReason_REFUSED_REASON_NOT_THE_PERMIT_HOLDER
	wantRefused(t, s.Report(t, "J", "K", apptest.Unsent("another")), holder)
	wantRefused(t, s.Settle(t, "J", "", apptest.Cancelled(), apptest.NotSent("another")), holder)
	s.Unmoved(t, before)
	wantAnswer(t, s.Settle(t, "J", "", apptest.Cancelled(), apptest.NotSent("K")), applied, cancelled)
	s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2})
}

// TestCase53AFailureThatWasReportedEndsTheJobWhenSettled duplicates the first attempt's failure, beside a second attempt and without one.
func TestCase53AFailureThatWasReportedEndsTheJobWhenSettled(t *testing.T) {
	t.Parallel()
	for _, second := range []bool{true, false} {
		s := seeded(t)
		s.Granted(t, "J", "K1")
		wantAnswer(t, s.Report(t, "J", "K1", apptest.EndedBadly(apptest.Money(3))), applied, pending)
		if !second {
			r := wantAnswer(t, s.Settle(t, "J", "K1", apptest.Failed(nil), apptest.SeenBy(callback)), applied, failed)
			wantEnd(t, r, endProviderFailed)
			s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2, Spent: 3})
			s.Verify(t)
			continue
		}
		s.Permitted(t, apptest.Submission("J", "K2"))
		before := s.Copy(t)
		for range 2 {
			wantRefused(t, s.Settle(t, "J", "K1", apptest.Failed(apptest.Money(3)), apptest.SeenBy(callback)), staleAttempt)
		}
		s.Unmoved(t, before)
		wantAnswer(t, s.Settle(t, "J", "K2", apptest.Completed(apptest.Money(90))), applied, completed)
		s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, Spent: 93})
		s.Verify(t)
	}
}

// TestCase54AReportedSuccessIsStillToBeSettled reports a success, settles it, and has a verdict on the input arrive late.
func TestCase54AReportedSuccessIsStillToBeSettled(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	s.Permitted(t, apptest.Check("J", "C", apptest.Input))
	r := wantAnswer(t, s.Report(t, "J", "K", apptest.EndedWell(apptest.Money(90))), applied, processing)
	is(t, "output", r.GetOutput(), settlementv1.Output_OUTPUT_WITHHELD)
	for _, verdict := range []any{apptest.Rejected(apptest.Input, nil), apptest.Unavailable(apptest.Input)} {
		wantAnswer(t, s.Settle(t, "J", "", verdict), held, processing)
	}
	r = wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(nil)), applied, completed)
	is(t, "captured", r.GetCredit().GetCaptured(), 10)
	is(t, "output", r.GetOutput(), settlementv1.Output_OUTPUT_RELEASABLE)
	before := s.Copy(t)
	wantAnswer(t, s.Settle(t, "J", "", apptest.Rejected(apptest.Input, nil)), superseded, completed)
	wantAnswer(t, s.Settle(t, "J", "", apptest.Unavailable(apptest.Input)), superseded, completed)
	s.Unmoved(t, before)
	s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, BudgetHeld: 200, Spent: 90}) // the check's cost is unknown
}
