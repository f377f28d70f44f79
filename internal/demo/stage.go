package demo

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// What every scenario starts with, and what its job takes of it. Money is in millionths of a dollar.
const (
	creditsGranted  = 100
	attemptsGranted = 1
	creditsTaken    = 10
	budgetLimit     = 1_000_000
	budgetTaken     = 200_000
	currency        = "USD"
)

// GenerationCost and CheckCost are what the fake provider charges where a scenario says nothing else.
const (
	GenerationCost = 180_000
	CheckCost      = 0
)

const (
	answerTimeout = 10 * time.Second       // for the provider's answer
	hangTimeout   = 300 * time.Millisecond // for one that a scenario knows will never come
)

// retries has a call sent again where nothing is known of the first one: every call is safe to repeat with the same ids,
// and a drain goes on where it stopped.
const retries = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.05s", "maxBackoff": "1s",
	"backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", "ABORTED", "RESOURCE_EXHAUSTED"]}}]}`

// clients call the service.
type clients struct {
	conn         *grpc.ClientConn
	accounts     settlementv1.AccountServiceClient
	reservations settlementv1.ReservationServiceClient
	settlements  settlementv1.SettlementServiceClient
	evidence     settlementv1.ReconciliationServiceClient
	jobs         settlementv1.ReconciliationJobServiceClient
}

func dial(address string) (*clients, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(retries))
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", address, err)
	}
	return &clients{
		conn:         conn,
		accounts:     settlementv1.NewAccountServiceClient(conn),
		reservations: settlementv1.NewReservationServiceClient(conn),
		settlements:  settlementv1.NewSettlementServiceClient(conn),
		evidence:     settlementv1.NewReconciliationServiceClient(conn),
		jobs:         settlementv1.NewReconciliationJobServiceClient(conn),
	}, nil
}

// stage is what all scenarios share.
type stage struct {
	config   Config
	clients  *clients
	provider *fakeprovider.Client
	hasty    *fakeprovider.Client // gives up soon
}

func open(ctx context.Context, c Config) (*stage, error) {
	s := &stage{config: c}
	var err error
	if s.clients, err = dial(c.Service); err != nil {
		return nil, err
	}
	if s.provider, err = fakeprovider.NewClient(c.Provider.URL(), answerTimeout); err == nil {
		s.hasty, err = fakeprovider.NewClient(c.Provider.URL(), hangTimeout)
	}
	if err == nil {
		_, err = s.clients.accounts.PutTenant(ctx, &settlementv1.PutTenantRequest{TenantId: Tenant}, grpc.WaitForReady(true))
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("set up the demo: %w", err)
	}
	return s, nil
}

func (s *stage) close() {
	for _, p := range []*fakeprovider.Client{s.provider, s.hasty} {
		if p != nil {
			p.Close()
		}
	}
	_ = s.clients.conn.Close()
}

// setUp makes the account and the provider of a scenario, each named after it.
func (s *stage) setUp(ctx context.Context, sc *scenario) error {
	a := s.clients.accounts
	p := &settlementv1.PutProviderRequest{
		TenantId: Tenant, ProviderId: sc.name, Currency: currency, Enabled: true, PermitSeconds: &sc.permitSeconds,
		BudgetPeriod: settlementv1.BudgetPeriod_BUDGET_PERIOD_MONTH, TimeZone: "UTC", BudgetLimitMicros: budgetLimit,
	}
	if sc.provider != nil {
		sc.provider(p)
	}
	_, err := a.PutProvider(ctx, p)
	if err == nil {
		_, err = a.PutAccount(ctx, &settlementv1.PutAccountRequest{TenantId: Tenant, AccountId: sc.name, SlotLimit: 1})
	}
	if err == nil {
		_, err = a.GrantCredits(ctx, &settlementv1.GrantCreditsRequest{
			TenantId: Tenant, AccountId: sc.name, GrantId: "welcome", Credits: creditsGranted,
		})
	}
	if err == nil {
		_, err = a.GrantFreeAttempts(ctx, &settlementv1.GrantFreeAttemptsRequest{
			TenantId: Tenant, AccountId: sc.name, GrantId: "welcome", Attempts: attemptsGranted,
		})
	}
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	return nil
}
