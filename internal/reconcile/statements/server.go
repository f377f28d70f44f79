// Package statements holds a provider's usage statement against the journal: costs that nobody knew become known, and what does not match is
// listed for people.
//
// A statement arrives as a stream of pages. Between two pages nothing is open, so a slow reader of a file holds nobody up:
//
//	header ──► page … page ──► end
//	             │               └─ which requests of the journal does the statement lack?
//	             └─ leave out what was taken ─► match with the journal ─► confirm costs as evidence ─► record lines and checkpoint
//
// Evidence is taken once in any state, so the one order that matters is this: first the evidence, then the checkpoint. Whoever dies between
// the two takes the page again and finds his own evidence.
package statements

import (
	"context"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/reconcile/statements/statementdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// Server answers the StatementService.
type Server struct {
	settlementv1.UnimplementedStatementServiceServer
	lanes    *lane.Lanes
	reader   *ledgerdb.Reader
	store    *statementdb.Store
	turns    turns
	stopping <-chan struct{}
}

// New makes the service. Imports under way end after a page once stopping is closed.
func New(lanes *lane.Lanes, reader *ledgerdb.Reader, store *statementdb.Store, stopping <-chan struct{}) *Server {
	return &Server{lanes: lanes, reader: reader, store: store, stopping: stopping}
}

// GetStatement shows how far a statement has come.
func (s *Server) GetStatement(ctx context.Context, req *settlementv1.GetStatementRequest) (*settlementv1.GetStatementResponse, error) {
	found, err := s.store.Statement(ctx, idOf(req))
	if err != nil {
		return nil, err
	}
	return &settlementv1.GetStatementResponse{Statement: respondStatement(&found)}, nil
}

// ListStatementFindings lists what did not simply match.
func (s *Server) ListStatementFindings(
	ctx context.Context, req *settlementv1.ListStatementFindingsRequest,
) (*settlementv1.ListStatementFindingsResponse, error) {
	after, err := parsePlace(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	id, size := idOf(req), wire.PageSize(req.PageSize)
	if _, err := s.store.Statement(ctx, id); err != nil {
		return nil, err
	}
	found, err := s.findings(ctx, id, after, size)
	if err != nil {
		return nil, err
	}
	m := &settlementv1.ListStatementFindingsResponse{Findings: found}
	if len(found) == size {
		m.NextPageToken = placeToken(found[size-1])
	}
	return m, nil
}

func (s *Server) findings(ctx context.Context, id statementdb.ID, after statementdb.Place, limit int) ([]*settlementv1.StatementFinding, error) {
	provider, err := s.reader.Provider(ctx, id.Tenant, id.Provider)
	if err != nil {
		return nil, err
	}
	found, err := s.store.Findings(ctx, id, after, limit)
	if err != nil {
		return nil, err
	}
	var ms []*settlementv1.StatementFinding
	for i := range found {
		ms = append(ms, respondFinding(&found[i], provider.Currency))
	}
	return ms, nil
}

// named is a request that names a statement.
type named interface {
	GetTenantId() string
	GetProviderId() string
	GetStatementId() string
}

func idOf(m named) statementdb.ID {
	return statementdb.ID{Tenant: ledger.TenantID(m.GetTenantId()), Provider: ledger.ProviderID(m.GetProviderId()), Statement: m.GetStatementId()}
}
