package cases_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// TestCase07AbsentZeroAndKnownCosts ends jobs with each kind of cost, and looks at what the budget makes of it.
func TestCase07AbsentZeroAndKnownCosts(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	want := apptest.Books{Credits: 100, Attempts: 2}
	unresolved := map[string]bool{}
	for _, c := range []struct {
		name  string
		cost  *settlementv1.Money
		state settlementv1.BudgetState
	}{
		{"absent", nil, settlementv1.BudgetState_BUDGET_STATE_HELD},
		{"zero", apptest.Money(0), settlementv1.BudgetState_BUDGET_STATE_ENDED},
		{"37", apptest.Money(37), settlementv1.BudgetState_BUDGET_STATE_ENDED},
	} {
		for _, outcome := range []any{apptest.Completed(c.cost), apptest.Failed(c.cost)} {
			id := fmt.Sprintf("%T-%s", outcome, c.name)
			s.Granted(t, id, "K-"+id)
			r := s.Settle(t, id, "K-"+id, outcome).GetReservation()
			is(t, id+" budget", r.GetBudget().GetState(), c.state)
			is(t, id+" unresolved", r.GetBudget().GetUnresolved(), c.cost == nil)
			is(t, id+" known cost", r.GetBudget().GetKnownCostMicros(), c.cost.GetAmountMicros())
			cost := line(t, r, "K-"+id).GetCost()
			is(t, id+" presence", cost != nil, c.cost != nil)
			is(t, id+" cost", cost.GetAmountMicros(), c.cost.GetAmountMicros())
			if r.GetState() == completed {
				want.Credits -= 10
			}
			want.Spent += c.cost.GetAmountMicros()
			if c.cost == nil {
				want.BudgetHeld += 200
				unresolved[id] = true
			}
			s.WantBooks(t, want)
		}
	}
	for _, r := range must(s.Reservations.ListReservations(t.Context(), &settlementv1.ListReservationsRequest{
		TenantId: apptest.Tenant, UnresolvedCost: true,
	}))(t).GetReservations() {
		if !unresolved[r.GetReservationId()] {
			t.Errorf("%s is listed as unresolved", r.GetReservationId())
		}
		delete(unresolved, r.GetReservationId())
	}
	if len(unresolved) > 0 {
		t.Errorf("not listed as unresolved: %v", unresolved)
	}
}

// TestCase07PresenceIsPartOfTheContent repeats an outcome with another kind of cost, and with another kind of charge.
func TestCase07PresenceIsPartOfTheContent(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	for _, id := range []string{"J1", "J2"} {
		s.Granted(t, id, "K-"+id)
	}
	wantAnswer(t, s.Settle(t, "J1", "K-J1", apptest.Completed(nil)), applied, completed)
	wantAnswer(t, s.Settle(t, "J1", "K-J1", apptest.Completed(nil)), replayed, completed)
	wantAnswer(t, s.Settle(t, "J1", "K-J1", apptest.Completed(apptest.Money(0))), applied, completed) // the cost became known
	wantAnswer(t, s.Settle(t, "J1", "K-J1", apptest.Completed(nil)), replayed, completed)             // nothing new, no contradiction
	s.WantExceptions(t, "J1")
	r := s.Settle(t, "J1", "K-J1", apptest.Completed(apptest.Money(37)))
	wantAnswer(t, r, replayed, completed)
	is(t, "exceptions in the answer", len(r.GetExceptions()), 1)
	s.WantExceptions(t, "J1", apptest.Exception{Key: "K-J1", Reason: "COST_CONFLICT", Cost: 37, Count: 1})

	wantAnswer(t, s.Settle(t, "J2", "K-J2", apptest.Completed(nil)), applied, completed)
	wantAnswer(t, s.Settle(t, "J2", "K-J2", apptest.Charged(0, nil)), superseded, completed)
	is(t, "captured", s.Get(t, "J2").GetCredit().GetCaptured(), 10)
}

// TestCase08ARejectedOutputFollowsTheProvidersRule rejects outputs under both rules, with credits and with a free attempt.
func TestCase08ARejectedOutputFollowsTheProvidersRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		captures bool
		fund     func(*settlementv1.ReserveRequest)
		want     apptest.Books
	}{
		{false, credits(10), apptest.Books{Credits: 100, Attempts: 2, Spent: 180}},
		{true, credits(10), apptest.Books{Credits: 90, Attempts: 2, Spent: 180}},
		{false, freeAttempt, apptest.Books{Credits: 100, Attempts: 2, Spent: 180}},
		{true, freeAttempt, apptest.Books{Credits: 100, Attempts: 1, Spent: 180}},
	} {
		s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.OutputRejectionCaptures = c.captures })
		s.Granted(t, "J", "K", c.fund)
		for range 2 {
			r := s.Settle(t, "J", "K", apptest.Rejected(apptest.Output, apptest.Money(180))).GetReservation()
			wantEnd(t, r, endRejected)
			is(t, "output", r.GetOutput(), settlementv1.Output_OUTPUT_WITHHELD)
			is(t, "captured or returned", r.GetCredit().GetCaptured()+r.GetCredit().GetReturned(), r.GetCredit().GetTaken())
			is(t, "a capture", r.GetCredit().GetState() == settlementv1.CreditState_CREDIT_STATE_CAPTURED, c.captures)
			s.WantBooks(t, c.want)
		}
		s.Verify(t)
	}
}

// TestCase08ARejectedInputAlwaysReturns rejects inputs where rejected outputs are charged.
func TestCase08ARejectedInputAlwaysReturns(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.OutputRejectionCaptures = true })
	defer s.Verify(t)
	for i, fund := range []func(*settlementv1.ReserveRequest){credits(10), freeAttempt} {
		id, check := fmt.Sprintf("J%d", i), fmt.Sprintf("C%d", i)
		s.Granted(t, id, "", fund)
		s.Permitted(t, apptest.Check(id, check, apptest.Input))
		r := wantAnswer(t, s.Settle(t, id, "", apptest.Rejected(apptest.Input, apptest.Money(0)), apptest.Checked(check)), applied, rejected)
		wantLine(t, r, check, lineSucceeded)
		if r.GetOutput() == settlementv1.Output_OUTPUT_RELEASABLE {
			t.Error("the output of a rejected input is releasable")
		}
		s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2})
	}
}

// TestCase10ACostAboveTheHoldIsTheTruth overruns a hold with head-room in the budget, and without.
func TestCase10ACostAboveTheHoldIsTheTruth(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{1000, 100} {
		s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.BudgetLimitMicros = limit })
		s.Granted(t, "J", "K", micros(100))
		r := wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(apptest.Money(130))), applied, completed)
		is(t, "captured", r.GetCredit().GetCaptured(), 10)
		s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, Spent: 130})
		resp, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("J2", "", micros(1)))
		if limit == 100 {
			d := denial(t, resp, err, settlementv1.DenialReason_DENIAL_REASON_BUDGET_EXHAUSTED)
			is(t, "available", d.GetAvailable(), -30)
		} else if resp.GetGranted() == nil {
			t.Errorf("with head-room: %v, %v", resp, err)
		}
		s.Verify(t)
	}
}

// TestCase10AMonstrousCostIsMalformed sends costs beyond the bound in every place that takes one.
func TestCase10AMonstrousCostIsMalformed(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	before := s.Copy(t)
	for _, n := range []int64{math.MaxInt64, 1_000_000_000_000_001, -1, math.MinInt64} {
		_, err := s.Settlements.Settle(t.Context(), apptest.Settlement("J", "K", apptest.Completed(apptest.Money(n))))
		wantStatus(t, err, codes.InvalidArgument, "completed.cost.amount_micros")
		_, err = s.Settlements.Settle(t.Context(), apptest.Settlement("J", "K", apptest.Failed(apptest.Money(n))))
		wantStatus(t, err, codes.InvalidArgument, "provider_failed.cost.amount_micros")
		_, err = s.Reservations.ReportSubmission(t.Context(), apptest.Report("J", "K", apptest.NotAccepted(apptest.Money(n))))
		wantStatus(t, err, codes.InvalidArgument, "not_accepted.cost.amount_micros")
		_, err = s.Reconciliation.Reconcile(t.Context(), apptest.Proof("J", "K", apptest.Costs(n)))
		wantStatus(t, err, codes.InvalidArgument, "evidence.cost_confirmed.cost.amount_micros")
	}
	s.Unchanged(t, before)
	wantAnswer(t, s.Settle(t, "J", "K", apptest.Completed(apptest.Money(1_000_000_000_000_000))), applied, completed)
	s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, Spent: 1_000_000_000_000_000})
}

// TestCase14NothingTakesEveryPath runs jobs of zero credits and zero budget through every outcome.
func TestCase14NothingTakesEveryPath(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) {
		r.NotReceivedAfterSeconds = 0
		r.OutputRejectionCaptures = true
	})
	defer s.Verify(t)
	passed := time.Duration(0)
	passPermits := func() {
		passed += time.Minute
		s.TurnClock(passed)
	}
	for name, end := range map[string]struct {
		do    func(id, key string)
		kind  settlementv1.OutcomeKind
		event string
	}{
		"completed":         {func(id, key string) { s.Settle(t, id, key, apptest.Completed(apptest.Money(0))) }, endCompleted, "COMPLETED"},
		"charged":           {func(id, key string) { s.Settle(t, id, key, apptest.Charged(0, apptest.Money(0))) }, endCompleted, "COMPLETED"},
		"failed":            {func(id, key string) { s.Settle(t, id, key, apptest.Failed(apptest.Money(0))) }, endProviderFailed, "PROVIDER_FAILED"},
		"rejected":          {func(id, key string) { s.Settle(t, id, key, apptest.Rejected(apptest.Output, nil)) }, endRejected, "POLICY_REJECTED"},
		"rejected-input":    {func(id, key string) { s.Settle(t, id, "", apptest.Rejected(apptest.Input, nil), apptest.NotSent(key)) }, endRejected, "POLICY_REJECTED"},
		"unavailable":       {func(id, key string) { s.Settle(t, id, key, apptest.Unavailable(apptest.Output)) }, endUnavailable, "MODERATION_UNAVAILABLE"},
		"unavailable-input": {func(id, key string) { s.Settle(t, id, "", apptest.Unavailable(apptest.Input), apptest.NotSent(key)) }, endUnavailable, "MODERATION_UNAVAILABLE"},
		"cancelled":         {func(id, key string) { s.Settle(t, id, "", apptest.Cancelled(), apptest.NotSent(key)) }, endCancelled, "CANCELLED"},
		"given-up":          {func(id, key string) { passPermits(); s.Reconcile(t, id, key, apptest.GivenUp()) }, endGivenUp, "GIVEN_UP"},
		"not-received":      {func(id, key string) { passPermits(); s.Reconcile(t, id, key, apptest.NotReceived()) }, endNotReceived, "NOT_RECEIVED"},
		"expired": {func(id, key string) {
			s.Report(t, id, key, apptest.NotAccepted(nil))
			passDeadline(t, s, id)
			s.Extend(t, id, 60)
		}, endExpired, "EXPIRED"},
	} {
		s.Granted(t, name, "K-"+name, credits(0), micros(0))
		end.do(name, "K-"+name)
		r := s.Get(t, name)
		wantEnd(t, r, end.kind)
		is(t, name+" slot", r.GetSlot(), settlementv1.SlotState_SLOT_STATE_RELEASED)
		is(t, name+" events of the end", s.Entries(t, name, end.event), 1)
		s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2})
	}
}
