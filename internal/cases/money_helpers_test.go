package cases_test

import (
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

// credits asks for so many credits.
func credits(n int64) func(*settlementv1.ReserveRequest) {
	return func(r *settlementv1.ReserveRequest) {
		r.Funding = &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: n}}
	}
}

// freeAttempt asks for a free attempt.
func freeAttempt(r *settlementv1.ReserveRequest) {
	r.Funding = &settlementv1.Funding{Source: &settlementv1.Funding_FreeAttempt{FreeAttempt: &settlementv1.FreeAttempt{}}}
}

// attemptOr asks for a free attempt, else credits.
func attemptOr(n int64) func(*settlementv1.ReserveRequest) {
	return func(r *settlementv1.ReserveRequest) {
		r.Funding = &settlementv1.Funding{Source: &settlementv1.Funding_FreeAttemptOrCredits{FreeAttemptOrCredits: n}}
	}
}

// micros asks for so much of the provider's budget.
func micros(n int64) func(*settlementv1.ReserveRequest) {
	return func(r *settlementv1.ReserveRequest) { r.BudgetMicros = n }
}

// ttl asks for a deadline in so many seconds.
func ttl(n int64) func(*settlementv1.ReserveRequest) {
	return func(r *settlementv1.ReserveRequest) { r.TtlSeconds = new(n) }
}

// long outlives every clock that these tests turn by less than a day.
var long = ttl(86_400)

// of asks for another tenant.
func of(tenant string) func(*settlementv1.ReserveRequest) {
	return func(r *settlementv1.ReserveRequest) { r.TenantId = tenant }
}

// grantCredits adds credits to the account, under an id that the amount makes unique in a test.
func grantCredits(t *testing.T, s *apptest.Service, n int64) {
	t.Helper()
	if _, err := s.Accounts.GrantCredits(t.Context(), &settlementv1.GrantCreditsRequest{
		TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: time.Duration(n).String(), Credits: n,
	}); err != nil {
		t.Fatal(err)
	}
}

// grantAttempts adds free attempts to the account, under an id that the amount makes unique in a test.
func grantAttempts(t *testing.T, s *apptest.Service, n int64) {
	t.Helper()
	if _, err := s.Accounts.GrantFreeAttempts(t.Context(), &settlementv1.GrantFreeAttemptsRequest{
		TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: time.Duration(n).String(), Attempts: n,
	}); err != nil {
		t.Fatal(err)
	}
}

// useAttempts reserves until the account has no free attempt left.
func useAttempts(t *testing.T, s *apptest.Service) {
	t.Helper()
	for _, id := range []string{"attempt-1", "attempt-2"} {
		s.Granted(t, id, "", freeAttempt)
	}
}

// manySlots gives the account more slots and credits than a test needs.
func manySlots(t *testing.T, s *apptest.Service) {
	t.Helper()
	if _, err := s.Accounts.PutAccount(t.Context(), &settlementv1.PutAccountRequest{
		TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: 100_000,
	}); err != nil {
		t.Fatal(err)
	}
	grantCredits(t, s, 1_000_000)
}

// seedTenant makes another tenant with the same account and provider.
func seedTenant(t *testing.T, s *apptest.Service, tenant string) {
	t.Helper()
	ctx := t.Context()
	_, tenantErr := s.Accounts.PutTenant(ctx, &settlementv1.PutTenantRequest{TenantId: tenant})
	_, accountErr := s.Accounts.PutAccount(ctx, &settlementv1.PutAccountRequest{TenantId: tenant, AccountId: apptest.Account, SlotLimit: 5})
	_, providerErr := s.Accounts.PutProvider(ctx, &settlementv1.PutProviderRequest{
		TenantId: tenant, ProviderId: apptest.Provider, Currency: apptest.Currency, Enabled: true,
		BudgetPeriod: settlementv1.BudgetPeriod_BUDGET_PERIOD_NONE, BudgetLimitMicros: 1000,
	})
	_, grantErr := s.Accounts.GrantCredits(ctx, &settlementv1.GrantCreditsRequest{TenantId: tenant, AccountId: apptest.Account, GrantId: "seed", Credits: 100})
	for _, err := range []error{tenantErr, accountErr, providerErr, grantErr} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// verify recomputes the invariants of another tenant than the usual one.
func verify(t *testing.T, s *apptest.Service, tenant string) {
	t.Helper()
	findings, err := ledgerdb.Verify(t.Context(), s.DB.Read(), ledger.TenantID(tenant))
	if err != nil || len(findings) > 0 {
		t.Errorf("verify %s: %v, %v", tenant, findings, err)
	}
}

// reachAll makes one reservation of 5 credits for every state, and returns the states by id. The key of a reservation is K- and its id.
func reachAll(t *testing.T, s *apptest.Service) map[string]settlementv1.ReservationState {
	t.Helper()
	make := func(id string) string {
		s.Granted(t, id, "K-"+id, credits(5), long)
		return "K-" + id
	}
	s.Report(t, "pending", make("pending"), apptest.NotAccepted(nil))
	make("processing")
	s.Settle(t, "uncertain", make("uncertain"), apptest.Uncertain())
	s.Settle(t, "completed", make("completed"), apptest.Completed(apptest.Money(7)))
	s.Settle(t, "failed", make("failed"), apptest.Failed(nil))
	s.Settle(t, "rejected", make("rejected"), apptest.Rejected(apptest.Output, nil))
	make("cancelled")
	s.Settle(t, "cancelled", "", apptest.Cancelled(), apptest.NotSent("K-cancelled"))
	s.Report(t, "expired", make("expired"), apptest.NotAccepted(nil))
	passDeadline(t, s, "expired")
	s.Extend(t, "expired", 60)
	states := map[string]settlementv1.ReservationState{
		"pending": pending, "processing": processing, "uncertain": uncertain, "completed": completed, "failed": failed,
		"rejected": rejected, "cancelled": cancelled, "expired": expired,
	}
	for id, state := range states {
		is(t, "state of "+id, s.Get(t, id).GetState(), state)
	}
	return states
}

// passDeadline lets the deadline of one reservation pass, and leaves the clock alone.
func passDeadline(t *testing.T, s *apptest.Service, id string) {
	t.Helper()
	s.DB.Exec(`UPDATE reservations SET deadline = settlement_now() - interval '1 second' WHERE tenant_id = $1 AND reservation_id = $2`, apptest.Tenant, id)
}
