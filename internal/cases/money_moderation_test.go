package cases_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// journal is what a repair must leave alone: which requests there were, and what they cost.
func journal(r *settlementv1.Reservation) map[string]string {
	j := map[string]string{}
	for _, l := range r.GetLines() {
		j[l.GetRequestKey()] = l.GetKind().String() + l.GetStage().String() + l.GetProviderTaskId() + l.GetCost().String() + l.GetPermittedAt().String()
	}
	return j
}

// TestCase09AnUnavailableCheckMakesTheCustomerWhole has the check fail before submission and after the output, and then recover.
func TestCase09AnUnavailableCheckMakesTheCustomerWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stage   settlementv1.Stage
		key     string
		prepare func(*apptest.Service)
		late    []any
	}{
		"before submission": {apptest.Input, "", func(s *apptest.Service) {
			s.Granted(t, "J", "", freeAttempt)
			s.Permitted(t, apptest.Check("J", "C", apptest.Input))
		}, []any{apptest.Rejected(apptest.Input, nil)}},
		"after the output": {apptest.Output, "K", func(s *apptest.Service) {
			s.Granted(t, "J", "K", freeAttempt)
			s.Report(t, "J", "K", apptest.EndedWell(apptest.Money(90)))
			s.Permitted(t, apptest.Check("J", "C", apptest.Output))
		}, []any{apptest.Rejected(apptest.Output, nil), apptest.Completed(nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := seeded(t)
			defer s.Verify(t)
			c.prepare(s)
			before := journal(s.Get(t, "J"))
			r := wantAnswer(t, s.Settle(t, "J", c.key, apptest.Unavailable(c.stage), apptest.Checked("C")), applied, failed)
			wantEnd(t, r, endUnavailable)
			is(t, "stage", r.GetOutcome().GetStage(), c.stage)
			is(t, "cause", r.GetOutcome().GetUnavailableCause(), settlementv1.UnavailableCause_UNAVAILABLE_CAUSE_TIMEOUT)
			wantLine(t, r, "C", settlementv1.Knowledge_KNOWLEDGE_PERMITTED)
			wantJournal(t, before, r)
			is(t, "unresolved", r.GetBudget().GetUnresolved(), true)
			whole := apptest.Books{Credits: 100, Attempts: 2, BudgetHeld: 200, Spent: r.GetBudget().GetKnownCostMicros()}
			s.WantBooks(t, whole)
			is(t, "its event", s.Entries(t, "J", "MODERATION_UNAVAILABLE"), 1)
			is(t, "events of a rejection", s.Entries(t, "J", "POLICY_REJECTED"), 0)

			for i, late := range c.late {
				r := wantAnswer(t, s.Settle(t, "J", c.key, late), superseded, failed)
				wantEnd(t, r, endUnavailable)
				wantJournal(t, before, r)
				s.WantBooks(t, whole)
				is(t, "exceptions", len(s.Exceptions(t, "J")), i+1)
				is(t, "why", s.Exceptions(t, "J")[i].Reason, "SUPERSEDED")
			}
		})
	}
}

func wantJournal(t *testing.T, want map[string]string, r *settlementv1.Reservation) {
	t.Helper()
	got := journal(r)
	is(t, "lines", len(got), len(want))
	for key, line := range want {
		is(t, "line "+key, got[key], line)
	}
}

// TestCase09AVerdictThatArrivesLateStillTellsItsCost has the check recover with its key: the line learns, the customer's side stands.
func TestCase09AVerdictThatArrivesLateStillTellsItsCost(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "")
	s.Permitted(t, apptest.Check("J", "C", apptest.Input))
	s.Settle(t, "J", "", apptest.Unavailable(apptest.Input), apptest.Checked("C"))
	r := wantAnswer(t, s.Settle(t, "J", "", apptest.Rejected(apptest.Input, apptest.Money(5)), apptest.Checked("C")), superseded, failed)
	wantLine(t, r, "C", lineSucceeded)
	wantEnd(t, r, endUnavailable)
	s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2, Spent: 5})
}

// TestCase09WithNothingJournaledTheHoldEnds is the sibling without any request: none counts as known.
func TestCase09WithNothingJournaledTheHoldEnds(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "", freeAttempt)
	r := wantAnswer(t, s.Settle(t, "J", "", apptest.Unavailable(apptest.Input)), applied, failed)
	is(t, "budget", r.GetBudget().GetState(), settlementv1.BudgetState_BUDGET_STATE_ENDED)
	is(t, "unresolved", r.GetBudget().GetUnresolved(), false)
	s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2})
}

// TestCase11AJobIsJudgedByWhatItWasStampedWith changes everything about provider and account between Reserve and Settle.
func TestCase11AJobIsJudgedByWhatItWasStampedWith(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.OutputRejectionCaptures = true })
	defer s.Verify(t)
	for _, id := range []string{"completed", "rejected", "failed"} {
		s.Granted(t, id, "K-"+id)
	}
	stamped := s.Get(t, "completed").GetPolicy()
	s.PutProvider(t, func(r *settlementv1.PutProviderRequest) {
		r.Enabled, r.MaxInFlight, r.OutputRejectionCaptures, r.OutputCheckRequired = false, 1, false, true
		r.AuthoritativeObserver, r.NotReceivedAfterSeconds, r.BudgetLimitMicros = poll, 9999, 0
		r.IdempotencyKeySeconds = 60
	})
	if _, err := s.Accounts.PutAccount(t.Context(), &settlementv1.PutAccountRequest{
		TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: 0, Suspended: true,
	}); err != nil {
		t.Fatal(err)
	}
	is(t, "policy", s.Get(t, "completed").GetPolicy().String(), stamped.String())
	unchecked := apptest.Completed(apptest.Money(50))
	unchecked.OutputCheck = settlementv1.OutputCheck_OUTPUT_CHECK_NOT_REQUIRED
	wantAnswer(t, s.Settle(t, "completed", "K-completed", unchecked, apptest.SeenBy(callback)), applied, completed)
	r := wantAnswer(t, s.Settle(t, "rejected", "K-rejected", apptest.Rejected(apptest.Output, apptest.Money(60)), apptest.SeenBy(callback)), applied, rejected)
	is(t, "captured", r.GetCredit().GetCaptured(), 10)
	wantAnswer(t, s.Settle(t, "failed", "K-failed", apptest.Failed(apptest.Money(0)), apptest.SeenBy(callback)), applied, failed)
	s.WantBooks(t, apptest.Books{Credits: 80, Attempts: 2, Spent: 110})
}

// TestCase11WhatNeverChangesIsRefused tries to change what money is counted in.
func TestCase11WhatNeverChangesIsRefused(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) {
		r.BudgetPeriod, r.TimeZone = settlementv1.BudgetPeriod_BUDGET_PERIOD_MONTH, "Europe/Berlin"
	})
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	before := s.Copy(t)
	valid := &settlementv1.PutProviderRequest{
		TenantId: apptest.Tenant, ProviderId: apptest.Provider, Currency: apptest.Currency, Enabled: true, BudgetLimitMicros: 1,
		BudgetPeriod: settlementv1.BudgetPeriod_BUDGET_PERIOD_MONTH, TimeZone: "Europe/Berlin",
	}
	for field, change := range map[string]func(*settlementv1.PutProviderRequest){
		"currency":      func(r *settlementv1.PutProviderRequest) { r.Currency = "EUR" },
		"budget_period": func(r *settlementv1.PutProviderRequest) { r.BudgetPeriod = settlementv1.BudgetPeriod_BUDGET_PERIOD_DAY },
		"time_zone":     func(r *settlementv1.PutProviderRequest) { r.TimeZone = "UTC" },
	} {
		req := clone(valid)
		change(req)
		_, err := s.Accounts.PutProvider(t.Context(), req)
		wantStatus(t, err, codes.FailedPrecondition, field)
	}
	_, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("J2", "", func(r *settlementv1.ReserveRequest) { r.Currency = "EUR" }))
	wantStatus(t, err, codes.FailedPrecondition, "currency")
	s.Unchanged(t, before)
}
