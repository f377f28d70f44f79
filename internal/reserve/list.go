package reserve

import (
	"context"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// ListReservations lists a tenant's reservations, the oldest first: what is stuck, since when, and whose money it is.
func (s *Server) ListReservations(ctx context.Context, req *settlementv1.ListReservationsRequest) (*settlementv1.ListReservationsResponse, error) {
	at, id, err := wire.ParsePageToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	page := ledgerdb.Page{After: ledgerdb.Cursor{At: at, ID: id}, Size: wire.PageSize(req.PageSize)}
	views, err := s.reader.Reservations(ctx, ledger.TenantID(req.GetTenantId()), parseFilter(req), page)
	if err != nil {
		return nil, err
	}
	m := &settlementv1.ListReservationsResponse{}
	for i := range views {
		m.Reservations = append(m.Reservations, wire.Reservation(&views[i]))
	}
	if len(views) == page.Size {
		last := &views[len(views)-1]
		m.NextPageToken = wire.PageToken(last.CreatedAt, string(last.ID))
	}
	return m, nil
}

func parseFilter(req *settlementv1.ListReservationsRequest) ledgerdb.ReservationFilter {
	f := ledgerdb.ReservationFilter{
		Account: ledger.AccountID(req.GetAccountId()), Provider: ledger.ProviderID(req.GetProviderId()),
		OlderThan: time.Duration(req.GetOlderThanSeconds()) * time.Second, Overdue: req.GetOverdue(), UnresolvedCost: req.GetUnresolvedCost(),
	}
	for _, s := range req.GetStates() {
		f.States = append(f.States, wire.States.Word(s))
	}
	for _, o := range req.GetOutcomes() {
		f.Outcomes = append(f.Outcomes, wire.Outcomes.Word(o))
	}
	return f
}
