package cases_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// TestCase12WhatDoesNotExistIsNotFound settles a denied reservation, an unknown one, and another tenant's, by every call.
func TestCase12WhatDoesNotExistIsNotFound(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	seedTenant(t, s, "other")
	if reserve(t, s, apptest.Reserve("theirs", "K", of("other"))).GetGranted() == nil {
		t.Fatal("denied")
	}
	resp, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("denied", "K", credits(101)))
	denial(t, resp, err, settlementv1.DenialReason_DENIAL_REASON_INSUFFICIENT_CREDITS)
	before := s.Copy(t)
	for _, id := range []string{"denied", "unknown", "theirs"} {
		for _, req := range []proto.Message{
			apptest.Settlement(id, "K", apptest.Completed(apptest.Money(7))), apptest.Settlement(id, "", apptest.Cancelled()),
			apptest.Report(id, "K", apptest.Accepted("task")), apptest.Proof(id, "K", apptest.Costs(7)),
			apptest.Submission(id, "K"), apptest.Check(id, "C", apptest.Input),
			&settlementv1.ExtendReservationRequest{TenantId: apptest.Tenant, ReservationId: id, TtlSeconds: 60},
			&settlementv1.GetReservationRequest{TenantId: apptest.Tenant, ReservationId: id},
		} {
			_, err := try(t.Context(), s, req)
			wantStatus(t, err, codes.NotFound, "reservation_id")
		}
	}
	for field, change := range map[string]func(*settlementv1.ReserveRequest){
		"tenant_id":   of("nobody"),
		"account_id":  func(r *settlementv1.ReserveRequest) { r.AccountId = "nobody" },
		"provider_id": func(r *settlementv1.ReserveRequest) { r.ProviderId = "nobody" },
	} {
		_, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("J", "", change))
		wantStatus(t, err, codes.NotFound, field)
	}
	s.Unchanged(t, before)
	verify(t, s, "other")
}

// TestCase12AFactThatCannotBeTakenIsOneException brings facts that contradict the journal, over and over.
func TestCase12AFactThatCannotBeTakenIsOneException(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K1")
	s.Report(t, "J", "K1", apptest.NotAccepted(apptest.Money(0)))
	s.Permitted(t, apptest.Submission("J", "K2"))
	s.Report(t, "J", "K2", apptest.Accepted("task-2"))
	before := s.Copy(t)
	for range 3 {
		wantRefused(t, s.Settle(t, "J", "K9", apptest.Completed(apptest.Money(7))), unknownAttempt)
		wantRefused(t, s.Settle(t, "J", "K2", apptest.Completed(nil), task("task-9")), taskMismatch)
		wantRefused(t, s.Settle(t, "J", "K1", apptest.Completed(nil)), staleAttempt)
		wantRefused(t, s.Report(t, "J", "K1", apptest.EndedWell(nil)), conflicting)
		wantRefused(t, s.Reconcile(t, "J", "K2", apptest.NotReceived()), conflicting)
		s.Unmoved(t, before)
	}
	s.WantExceptions(t, "J",
		apptest.Exception{Key: "K1", Reason: "CONFLICTING_FACT", Cost: -1, Count: 3},
		apptest.Exception{Key: "K2", Reason: "CONFLICTING_FACT", Cost: -1, Count: 3},
		apptest.Exception{Key: "K1", Reason: "STALE_ATTEMPT", Cost: -1, Count: 3},
		apptest.Exception{Key: "K2", Reason: "TASK_MISMATCH", Cost: -1, Count: 3},
		apptest.Exception{Key: "K9", Reason: "UNKNOWN_ATTEMPT", Cost: 7, Count: 3})
}

// TestCase12AThousandCopiesAreOneException settles a finished job with another cost, a thousand times over, through two servers.
func TestCase12AThousandCopiesAreOneException(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	other := apptest.On(t, s.DB)
	s.Granted(t, "J", "K")
	s.Settle(t, "J", "K", apptest.Completed(apptest.Money(90)))
	before := s.Copy(t)
	var calls sync.WaitGroup
	ids := sync.Map{}
	for i := range 50 {
		server := []*apptest.Service{s, other}[i%2]
		calls.Go(func() {
			for range 20 {
				resp, err := server.Settlements.Settle(t.Context(), apptest.Settlement("J", "K", apptest.Completed(apptest.Money(91))))
				if err != nil || resp.GetDisposition() != replayed || len(resp.GetExceptions()) != 1 {
					t.Errorf("another cost beside the same outcome: %v, %v", resp, err)
					return
				}
				ids.Store(resp.GetExceptions()[0].GetExceptionId(), true)
			}
		})
	}
	calls.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	is(t, "exception ids", n, 1)
	s.Unmoved(t, before)
	s.WantExceptions(t, "J", apptest.Exception{Key: "K", Reason: "COST_CONFLICT", Cost: 91, Count: 1000})
}

// TestCase13AmountsOutOfBoundsAreRefusedAtTheEdge sends too little and too much in every field that takes an amount.
func TestCase13AmountsOutOfBoundsAreRefusedAtTheEdge(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	const tooMuch = 1_000_000_000_000_001
	before := s.Copy(t)
	for _, n := range []int64{-1, tooMuch} {
		for field, req := range map[string]proto.Message{
			"funding.credits":                 apptest.Reserve("J", "", credits(n)),
			"funding.free_attempt_or_credits": apptest.Reserve("J", "", attemptOr(n)),
			"budget_micros":                   apptest.Reserve("J", "", micros(n)),
			"slot_limit":                      &settlementv1.PutAccountRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: n},
			"credits":                         &settlementv1.GrantCreditsRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: "G", Credits: n},
			"attempts":                        &settlementv1.GrantFreeAttemptsRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: "G", Attempts: n},
			"limit_micros":                    &settlementv1.PutBudgetRequest{TenantId: apptest.Tenant, ProviderId: apptest.Provider, LimitMicros: n},
			"completed.charge":                apptest.Settlement("J", "K", apptest.Charged(n, nil)),
			"completed.cost.amount_micros":    apptest.Settlement("J", "K", apptest.Completed(apptest.Money(n))),
		} {
			_, err := try(t.Context(), s, req)
			wantStatus(t, err, codes.InvalidArgument, field)
		}
	}
	_, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("J", "", ttl(7*86_400+1))) // beyond the maximum age
	wantStatus(t, err, codes.InvalidArgument, "ttl_seconds")
	s.Unchanged(t, before)
}

// TestCase13SumsNeverWrap fills balances and budgets to their bound, and asks for one more.
func TestCase13SumsNeverWrap(t *testing.T) {
	t.Parallel()
	const most = 1_000_000_000_000_000
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.BudgetLimitMicros = most })
	defer s.Verify(t)
	grant := func(n int64) error {
		_, err := s.Accounts.GrantCredits(t.Context(), &settlementv1.GrantCreditsRequest{
			TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: fmt.Sprint("G", n), Credits: n,
		})
		return err
	}
	if err := grant(most - 100); err != nil {
		t.Fatal(err)
	}
	before := s.Copy(t)
	wantStatus(t, grant(1), codes.FailedPrecondition, "credits")
	wantStatus(t, grant(most), codes.FailedPrecondition, "credits")
	s.Unchanged(t, before)

	s.Granted(t, "J1", "K1", credits(most), micros(most))
	wantStatus(t, grant(1), codes.FailedPrecondition, "credits") // what is held counts
	resp := reserve(t, s, apptest.Reserve("J2", "K2", credits(most), micros(most)))
	is(t, "denials of a second one as large", len(resp.GetDenied().GetDenials()), 2)
	s.Settle(t, "J1", "K1", apptest.Failed(apptest.Money(most)))
	resp = reserve(t, s, apptest.Reserve("J2", "K2", credits(most), micros(most)))
	d := resp.GetDenied().GetDenials()
	if len(d) != 1 || d[0].GetReason() != settlementv1.DenialReason_DENIAL_REASON_BUDGET_EXHAUSTED || d[0].GetAvailable() != 0 {
		t.Errorf("with everything spent: %v", resp)
	}
	s.Granted(t, "J3", "K3", credits(most), micros(0))
	s.Settle(t, "J3", "K3", apptest.Completed(apptest.Money(most)))
	s.WantBooks(t, apptest.Books{Attempts: 2, Spent: 2 * most})
}

// TestCase13TheDatabaseRefusesWhatTheEdgeLetThrough writes impossible amounts behind the service's back.
func TestCase13TheDatabaseRefusesWhatTheEdgeLetThrough(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	before := s.Copy(t)
	for sql, constraint := range map[string]string{
		`UPDATE accounts SET credits_available = -1`:                    "credits_never_negative",
		`UPDATE accounts SET free_attempts_held = -1`:                   "free_attempts_never_negative",
		`UPDATE accounts SET credits_available = 1000000000000001`:      "credits_within_bounds",
		`UPDATE accounts SET slots_in_use = -1`:                         "slots_never_negative",
		`UPDATE budgets SET held_micros = -1`:                           "held_never_negative",
		`UPDATE budgets SET spent_micros = -1`:                          "spent_never_negative",
		`UPDATE budgets SET limit_micros = 1000000000000001`:            "limit_within_bounds",
		`UPDATE providers SET in_flight = -1, uncertain_in_flight = -1`: "in_flight_never_negative",
		`UPDATE lines SET cost_micros = -1, cost_adjustment_micros = 1`: "cost_within_bounds",
		`UPDATE lines SET cost_micros = 1000000000000001`:               "cost_within_bounds",
		`UPDATE reservations SET credits_captured = 11`:                 "captured_at_most_taken",
		`UPDATE reservations SET revision = -1`:                         "revision", // by the trigger or the CHECK, whichever is first
	} {
		_, err := s.DB.Owner().Exec(t.Context(), sql)
		if err == nil || !strings.Contains(err.Error(), constraint) {
			t.Errorf("%s: %v, want it refused by %s", sql, err, constraint)
		}
	}
	s.Unchanged(t, before)
}
