package account

import (
	"context"
	"math"
	"strconv"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// GetAccount reads an account.
func (s *Server) GetAccount(ctx context.Context, req *settlementv1.GetAccountRequest) (*settlementv1.GetAccountResponse, error) {
	a, err := s.reader.Account(ctx, ledger.TenantID(req.GetTenantId()), ledger.AccountID(req.GetAccountId()))
	if err != nil {
		return nil, err
	}
	return &settlementv1.GetAccountResponse{Account: respondAccount(&a)}, nil
}

// GetProvider reads a provider.
func (s *Server) GetProvider(ctx context.Context, req *settlementv1.GetProviderRequest) (*settlementv1.GetProviderResponse, error) {
	p, err := s.reader.Provider(ctx, ledger.TenantID(req.GetTenantId()), ledger.ProviderID(req.GetProviderId()))
	if err != nil {
		return nil, err
	}
	return &settlementv1.GetProviderResponse{Provider: respondProvider(&p)}, nil
}

// GetBudget reads a provider's budget of one period, the current one where none is named.
func (s *Server) GetBudget(ctx context.Context, req *settlementv1.GetBudgetRequest) (*settlementv1.GetBudgetResponse, error) {
	tenant, id := ledger.TenantID(req.GetTenantId()), ledger.ProviderID(req.GetProviderId())
	var start time.Time
	if at := req.GetPeriodStart(); at != nil {
		if err := at.CheckValid(); err != nil {
			return nil, &ledger.Error{Kind: ledger.Invalid, Field: "period_start", Message: "is not a time"}
		}
		start = at.AsTime()
	}
	p, err := s.reader.Provider(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	b, err := s.reader.Budget(ctx, tenant, id, start)
	if err != nil {
		return nil, err
	}
	return &settlementv1.GetBudgetResponse{Budget: respondBudget(&b, p.Currency)}, nil
}

// GetLedger lists an account's movements in the order in which they happened.
func (s *Server) GetLedger(ctx context.Context, req *settlementv1.GetLedgerRequest) (*settlementv1.GetLedgerResponse, error) {
	_, id, err := wire.ParsePageToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	after := int64(0)
	if id != "" {
		if after, err = strconv.ParseInt(id, 10, 64); err != nil {
			return nil, wire.ErrPageToken
		}
	}
	size := wire.PageSize(req.PageSize)
	entries, err := s.reader.Ledger(ctx, ledger.TenantID(req.GetTenantId()), ledger.AccountID(req.GetAccountId()), after, size)
	if err != nil {
		return nil, err
	}
	m := &settlementv1.GetLedgerResponse{}
	for i := range entries {
		m.Entries = append(m.Entries, respondEntry(&entries[i]))
	}
	if len(entries) == size {
		last := &entries[size-1]
		m.NextPageToken = wire.PageToken(last.CreatedAt, strconv.FormatInt(last.ID, 10))
	}
	return m, nil
}

// GetBalance adds up an account's ledger, up to an entry where one is named.
func (s *Server) GetBalance(ctx context.Context, req *settlementv1.GetBalanceRequest) (*settlementv1.GetBalanceResponse, error) {
	asOf := int64(math.MaxInt64)
	if req.AsOfEntry != nil {
		asOf = req.GetAsOfEntry()
	}
	b, err := s.reader.BalanceAsOf(ctx, ledger.TenantID(req.GetTenantId()), ledger.AccountID(req.GetAccountId()), asOf)
	if err != nil {
		return nil, err
	}
	return &settlementv1.GetBalanceResponse{
		AccountId: req.GetAccountId(), CreditsAvailable: int64(b.Credits.Available), CreditsHeld: int64(b.Credits.Held),
		FreeAttemptsAvailable: int64(b.FreeAttempts.Available), FreeAttemptsHeld: int64(b.FreeAttempts.Held), AsOfEntry: b.Entry,
	}, nil
}
