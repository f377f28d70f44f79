// Package account is what operators call: tenants, accounts, providers, budgets and grants, and the reads of the ledger.
package account

import (
	"context"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// permitSecondsDefault is how long a permit lives where an operator does not say.
const permitSecondsDefault = 30

// Server answers the AccountService.
type Server struct {
	settlementv1.UnimplementedAccountServiceServer
	lanes  *lane.Lanes
	reader *ledgerdb.Reader
}

// New makes the service.
func New(lanes *lane.Lanes, reader *ledgerdb.Reader) *Server {
	return &Server{lanes: lanes, reader: reader}
}

// PutTenant creates a tenant, once.
func (s *Server) PutTenant(ctx context.Context, req *settlementv1.PutTenantRequest) (*settlementv1.PutTenantResponse, error) {
	created, err := s.reader.CreateTenant(ctx, ledger.TenantID(req.GetTenantId()))
	if err != nil {
		return nil, err
	}
	return &settlementv1.PutTenantResponse{Tenant: &settlementv1.Tenant{TenantId: req.GetTenantId(), CreatedAt: wire.Time(created)}}, nil
}

// PutAccount creates an account or changes its settings.
func (s *Server) PutAccount(ctx context.Context, req *settlementv1.PutAccountRequest) (*settlementv1.PutAccountResponse, error) {
	settings := ledger.AccountSettings{
		ID: ledger.AccountID(req.GetAccountId()), SlotLimit: req.GetSlotLimit(), Suspended: req.GetSuspended(),
	}
	keys := ledger.Keys{Accounts: []ledger.AccountID{settings.ID}}
	a, err := lane.Do(ctx, s.lanes, ledger.TenantID(req.GetTenantId()), keys, func(b *ledger.Book) (ledger.Account, error) {
		return b.PutAccount(settings)
	})
	if err != nil {
		return nil, err
	}
	return &settlementv1.PutAccountResponse{Account: respondAccount(&a)}, nil
}

// PutProvider creates a provider or changes its settings.
func (s *Server) PutProvider(ctx context.Context, req *settlementv1.PutProviderRequest) (*settlementv1.PutProviderResponse, error) {
	settings, err := s.parseProvider(ctx, req)
	if err != nil {
		return nil, err
	}
	keys := ledger.Keys{Providers: []ledger.ProviderID{settings.ID}}
	p, err := lane.Do(ctx, s.lanes, ledger.TenantID(req.GetTenantId()), keys, func(b *ledger.Book) (ledger.Provider, error) {
		return b.PutProvider(settings)
	})
	if err != nil {
		return nil, err
	}
	return &settlementv1.PutProviderResponse{Provider: respondProvider(&p)}, nil
}

func (s *Server) parseProvider(ctx context.Context, req *settlementv1.PutProviderRequest) (ledger.ProviderSettings, error) {
	settings := ledger.ProviderSettings{
		ID: ledger.ProviderID(req.GetProviderId()), Currency: req.GetCurrency(), MaxInFlight: req.GetMaxInFlight(), Enabled: req.GetEnabled(),
		Policy: ledger.Policy{
			PermitSeconds: permitSecondsDefault, NotReceivedAfterSeconds: req.GetNotReceivedAfterSeconds(),
			IdempotencyKeySeconds: req.GetIdempotencyKeySeconds(), OutputCheckRequired: req.GetOutputCheckRequired(),
			OutputRejectionCaptures: req.GetOutputRejectionCaptures(), AuthoritativeObserver: wire.Observers.Word(req.GetAuthoritativeObserver()),
		},
		BudgetPeriod: wire.Periods.Word(req.GetBudgetPeriod()), TimeZone: req.GetTimeZone(), BudgetLimit: ledger.Micros(req.GetBudgetLimitMicros()),
	}
	if req.PermitSeconds != nil {
		settings.Policy.PermitSeconds = req.GetPermitSeconds()
	}
	if settings.BudgetPeriod == ledger.NoPeriod {
		if settings.TimeZone != "" {
			return settings, invalidZone("goes with a budget period of a day or a month")
		}
		return settings, nil
	}
	known, err := s.reader.TimeZoneExists(ctx, settings.TimeZone)
	if err != nil {
		return settings, err
	}
	if !known {
		return settings, invalidZone("is not a time zone that PostgreSQL knows")
	}
	return settings, nil
}

func invalidZone(text string) error {
	return &ledger.Error{Kind: ledger.Invalid, Field: "time_zone", Message: text}
}

// PutBudget sets the limit of a provider's current period.
func (s *Server) PutBudget(ctx context.Context, req *settlementv1.PutBudgetRequest) (*settlementv1.PutBudgetResponse, error) {
	id := ledger.ProviderID(req.GetProviderId())
	type answer struct {
		budget   ledger.Budget
		currency string
	}
	a, err := lane.Do(ctx, s.lanes, ledger.TenantID(req.GetTenantId()), ledger.Keys{Providers: []ledger.ProviderID{id}}, func(b *ledger.Book) (answer, error) {
		budget, currency, err := b.PutBudget(id, ledger.Micros(req.GetLimitMicros()))
		return answer{budget, currency}, err
	})
	if err != nil {
		return nil, err
	}
	return &settlementv1.PutBudgetResponse{Budget: respondBudget(&a.budget, a.currency)}, nil
}

// GrantCredits adds credits to an account, once per grant id.
func (s *Server) GrantCredits(ctx context.Context, req *settlementv1.GrantCreditsRequest) (*settlementv1.GrantCreditsResponse, error) {
	a, err := s.grant(ctx, req.GetTenantId(), ledger.Grant{
		ID: req.GetGrantId(), Account: ledger.AccountID(req.GetAccountId()), Unit: ledger.Credits, Amount: ledger.Amount(req.GetCredits()),
	})
	if err != nil {
		return nil, err
	}
	return &settlementv1.GrantCreditsResponse{Account: respondAccount(&a.Account), Entry: respondEntry(&a.Entry), Replayed: a.Replayed}, nil
}

// GrantFreeAttempts adds free attempts to an account, once per grant id.
func (s *Server) GrantFreeAttempts(ctx context.Context, req *settlementv1.GrantFreeAttemptsRequest) (*settlementv1.GrantFreeAttemptsResponse, error) {
	a, err := s.grant(ctx, req.GetTenantId(), ledger.Grant{
		ID: req.GetGrantId(), Account: ledger.AccountID(req.GetAccountId()), Unit: ledger.FreeAttempts, Amount: ledger.Amount(req.GetAttempts()),
	})
	if err != nil {
		return nil, err
	}
	return &settlementv1.GrantFreeAttemptsResponse{Account: respondAccount(&a.Account), Entry: respondEntry(&a.Entry), Replayed: a.Replayed}, nil
}

// grant adds to an account. Once the grant stands, a failure to read its entry back is safe to retry: the retry is a replay.
func (s *Server) grant(ctx context.Context, tenant string, g ledger.Grant) (ledger.GrantAnswer, error) {
	a, err := lane.Do(ctx, s.lanes, ledger.TenantID(tenant), g.Keys(), func(b *ledger.Book) (ledger.GrantAnswer, error) {
		return b.Grant(g)
	})
	if err == nil && !a.Replayed { // the database has given the entry its id by now
		a.Entry, err = s.reader.Entry(ctx, ledger.TenantID(tenant), a.Entry.EventKey)
	}
	return a, err
}
