// Package reconcile closes what is uncertain by evidence, and keeps the facts that could not be applied until an operator decides.
package reconcile

import (
	"context"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// Server answers the ReconciliationService.
type Server struct {
	settlementv1.UnimplementedReconciliationServiceServer
	lanes  *lane.Lanes
	reader *ledgerdb.Reader
}

// New makes the service.
func New(lanes *lane.Lanes, reader *ledgerdb.Reader) *Server {
	return &Server{lanes: lanes, reader: reader}
}

// Reconcile takes evidence about one line.
func (s *Server) Reconcile(ctx context.Context, req *settlementv1.ReconcileRequest) (*settlementv1.ReconcileResponse, error) {
	in, err := parse(req)
	if err != nil {
		return nil, err
	}
	a, err := lane.Do(ctx, s.lanes, ledger.TenantID(req.GetTenantId()), in.Keys(), func(b *ledger.Book) (ledger.Answer, error) {
		return b.Reconcile(in)
	})
	if err != nil {
		return nil, err
	}
	return &settlementv1.ReconcileResponse{
		Disposition: wire.Dispositions.Enum(a.Disposition), RefusedReason: wire.RefusedReasons.Enum(a.Refused),
		Reservation: wire.Reservation(&a.View), Exceptions: wire.Exceptions(a.Exceptions),
	}, nil
}
