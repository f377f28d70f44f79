// Package settle is what those call who saw an outcome: workers, pollers, callbacks and front ends.
package settle

import (
	"cmp"
	"context"
	"log/slog"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/rpc"
)

// Server answers the SettlementService.
type Server struct {
	settlementv1.UnimplementedSettlementServiceServer
	lanes *lane.Lanes
	log   *slog.Logger
}

// New makes the service.
func New(lanes *lane.Lanes, log *slog.Logger) *Server { return &Server{lanes: lanes, log: log} }

// Settle ends a reservation with an outcome, exactly once, whoever saw it and however often.
func (s *Server) Settle(ctx context.Context, req *settlementv1.SettleRequest) (*settlementv1.SettleResponse, error) {
	in, err := parse(req)
	if err != nil {
		return nil, err
	}
	answer, err := lane.Do(ctx, s.lanes, ledger.TenantID(req.GetTenantId()), in.Keys(), func(b *ledger.Book) (ledger.Answer, error) {
		return b.Settle(in)
	})
	if err != nil {
		return nil, err
	}
	return respond(&answer), nil
}

// BatchSettle takes many outcomes, each as if it had been sent alone.
func (s *Server) BatchSettle(ctx context.Context, req *settlementv1.BatchSettleRequest) (*settlementv1.BatchSettleResponse, error) {
	for _, r := range req.GetRequests() {
		r.TenantId = cmp.Or(r.TenantId, req.GetTenantId())
	}
	results, err := rpc.Batch(ctx, s.log, s.lanes, req.GetTenantId(), req.GetRequests(), func(r *settlementv1.SettleRequest) (lane.Item[ledger.Answer], error) {
		in, err := parse(r)
		return lane.Item[ledger.Answer]{Keys: in.Keys(), Rule: func(b *ledger.Book) (ledger.Answer, error) { return b.Settle(in) }}, err
	})
	if err != nil {
		return nil, err
	}
	return respondAll(results), nil
}
