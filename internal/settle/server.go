// Package settle is what those call who saw an outcome: workers, pollers, callbacks and front ends.
package settle

import (
	"context"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// Server answers the SettlementService.
type Server struct {
	settlementv1.UnimplementedSettlementServiceServer
	lanes *lane.Lanes
}

// New makes the service.
func New(lanes *lane.Lanes) *Server { return &Server{lanes: lanes} }

// Settle ends a reservation with an outcome, exactly once, whoever saw it and however often.
func (s *Server) Settle(ctx context.Context, req *settlementv1.SettleRequest) (*settlementv1.SettleResponse, error) {
	in, err := parse(req)
	if err != nil {
		return nil, err
	}
	a, err := lane.Do(ctx, s.lanes, ledger.TenantID(req.GetTenantId()), in.Keys(), func(b *ledger.Book) (ledger.Answer, error) {
		return b.Settle(in)
	})
	if err != nil {
		return nil, err
	}
	return &settlementv1.SettleResponse{
		Disposition: wire.Dispositions.Enum(a.Disposition), HeldReason: wire.HeldReasons.Enum(a.Held),
		RefusedReason: wire.RefusedReasons.Enum(a.Refused), Reservation: wire.Reservation(&a.View), Exceptions: wire.Exceptions(a.Exceptions),
	}, nil
}
