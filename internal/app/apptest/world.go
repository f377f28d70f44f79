package apptest

import (
	"fmt"
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

// What Seed makes, and what the requests below talk about unless a test changes them.
const (
	Account  = "alice"
	Provider = "studio"
	Currency = "USD"
	Credits  = 100
	Attempts = 2
	Slots    = 5
	Limit    = 1000 // micros of the provider's budget
)

// Seed makes an account with credits, free attempts and slots, and a provider with a budget. A test changes the provider's settings.
func (s *Service) Seed(t testing.TB, change ...func(*settlementv1.PutProviderRequest)) {
	t.Helper()
	s.PutProvider(t, change...)
	must(t)(s.Accounts.PutAccount(t.Context(), &settlementv1.PutAccountRequest{TenantId: Tenant, AccountId: Account, SlotLimit: Slots}))
	must(t)(s.Accounts.GrantCredits(t.Context(), &settlementv1.GrantCreditsRequest{TenantId: Tenant, AccountId: Account, GrantId: "seed", Credits: Credits}))
	must(t)(s.Accounts.GrantFreeAttempts(t.Context(), &settlementv1.GrantFreeAttemptsRequest{TenantId: Tenant, AccountId: Account, GrantId: "seed", Attempts: Attempts}))
}

// PutProvider makes or changes the provider.
func (s *Service) PutProvider(t testing.TB, change ...func(*settlementv1.PutProviderRequest)) {
	t.Helper()
	req := &settlementv1.PutProviderRequest{
		TenantId: Tenant, ProviderId: Provider, Currency: Currency, Enabled: true, NotReceivedAfterSeconds: 60,
		BudgetPeriod: settlementv1.BudgetPeriod_BUDGET_PERIOD_NONE, BudgetLimitMicros: Limit,
	}
	for _, f := range change {
		f(req)
	}
	must(t)(s.Accounts.PutProvider(t.Context(), req))
}

// Reserve is a request for 10 credits and 200 micros of budget, with a permit for the key where one is named.
func Reserve(id, key string, change ...func(*settlementv1.ReserveRequest)) *settlementv1.ReserveRequest {
	req := &settlementv1.ReserveRequest{
		TenantId: Tenant, ReservationId: id, AccountId: Account, ProviderId: Provider,
		Funding:      &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: 10}},
		BudgetMicros: 200, Currency: Currency,
	}
	if key != "" {
		req.Submission = &settlementv1.Submission{RequestKey: key, PermitToken: "token-" + key}
	}
	for _, f := range change {
		f(req)
	}
	return req
}

// Granted reserves, and fails the test when that is denied.
func (s *Service) Granted(t testing.TB, id, key string, change ...func(*settlementv1.ReserveRequest)) *settlementv1.Granted {
	t.Helper()
	resp, err := s.Reservations.Reserve(t.Context(), Reserve(id, key, change...))
	if err != nil {
		t.Fatalf("reserve %s: %v", id, err)
	}
	if resp.GetGranted() == nil {
		t.Fatalf("reserve %s: denied: %v", id, resp.GetDenied())
	}
	return resp.GetGranted()
}

// Get reads a reservation.
func (s *Service) Get(t testing.TB, id string) *settlementv1.Reservation {
	t.Helper()
	return must(t)(s.Reservations.GetReservation(t.Context(), &settlementv1.GetReservationRequest{TenantId: Tenant, ReservationId: id})).(*settlementv1.GetReservationResponse).GetReservation()
}

// Money is an amount of the provider's currency.
func Money(micros int64) *settlementv1.Money {
	return &settlementv1.Money{AmountMicros: micros, Currency: Currency}
}

// TurnClock moves the service's clock by so much from the real time. It is the database's clock: every server on it follows.
func (s *Service) TurnClock(by time.Duration) {
	s.DB.Exec(fmt.Sprintf(`CREATE OR REPLACE FUNCTION settlement_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		RETURN clock_timestamp() + interval '%d microseconds'`, by.Microseconds()))
}

// Verify recomputes every invariant of the tenant, and fails the test with what is broken.
func (s *Service) Verify(t testing.TB) {
	t.Helper()
	s.VerifyTenant(t, Tenant)
}

// VerifyTenant does that for another tenant.
func (s *Service) VerifyTenant(t testing.TB, tenant ledger.TenantID) {
	t.Helper()
	findings, err := ledgerdb.Verify(t.Context(), s.DB.Read(), tenant)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	for _, f := range findings {
		t.Errorf("verify: %+v", f)
	}
}

// must returns the response of a call that may not fail.
func must(t testing.TB) func(any, error) any {
	return func(resp any, err error) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
}
