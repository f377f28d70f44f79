// Package reserve is what front ends and workers call before an outcome: Reserve, or BatchReserve for many at once, ExtendReservation,
// BeginSubmission, ReportSubmission and
// the reads of reservations, and the sweep that looks for overdue ones.
package reserve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/rpc"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// Config is what the service decides where a caller does not.
type Config struct {
	DefaultTTL time.Duration
	MaxAge     time.Duration
	Log        *slog.Logger
}

// Server answers the ReservationService.
type Server struct {
	settlementv1.UnimplementedReservationServiceServer
	lanes  *lane.Lanes
	reader *ledgerdb.Reader
	config Config
}

// New makes the service.
func New(lanes *lane.Lanes, reader *ledgerdb.Reader, config Config) *Server {
	return &Server{lanes: lanes, reader: reader, config: config}
}

// Reserve takes the three holds of a generation job, or tells everything that was lacking.
func (s *Server) Reserve(ctx context.Context, req *settlementv1.ReserveRequest) (*settlementv1.ReserveResponse, error) {
	in := s.parseReserve(req)
	answer, err := lane.Do(ctx, s.lanes, ledger.TenantID(req.GetTenantId()), in.Keys(), func(b *ledger.Book) (ledger.ReserveAnswer, error) {
		return b.Reserve(in)
	})
	if err != nil {
		return nil, err
	}
	return respondReserve(&answer), nil
}

// BatchReserve reserves for many jobs, each as if it had been asked for alone.
func (s *Server) BatchReserve(ctx context.Context, req *settlementv1.BatchReserveRequest) (*settlementv1.BatchReserveResponse, error) {
	for _, r := range req.GetRequests() {
		r.TenantId = cmp.Or(r.TenantId, req.GetTenantId())
	}
	results, err := rpc.Batch(ctx, s.config.Log, s.lanes, req.GetTenantId(), req.GetRequests(), func(r *settlementv1.ReserveRequest) (lane.Item[ledger.ReserveAnswer], error) {
		in := s.parseReserve(r)
		return lane.Item[ledger.ReserveAnswer]{Keys: in.Keys(), Rule: func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) }}, nil
	})
	if err != nil {
		return nil, err
	}
	return respondReserves(results), nil
}

// ExtendReservation pushes a deadline out.
func (s *Server) ExtendReservation(ctx context.Context, req *settlementv1.ExtendReservationRequest) (*settlementv1.ExtendReservationResponse, error) {
	id := ledger.ReservationID(req.GetReservationId())
	answer, err := lane.Do(ctx, s.lanes, ledger.TenantID(req.GetTenantId()), keysOf(id), func(b *ledger.Book) (ledger.ExtendAnswer, error) {
		return b.Extend(id, req.GetTtlSeconds())
	})
	switch {
	case err != nil:
		return nil, err
	case answer.Refused != "":
		return &settlementv1.ExtendReservationResponse{Result: &settlementv1.ExtendReservationResponse_Refused{
			Refused: wire.ExtendRefusals.Enum(answer.Refused),
		}}, nil
	}
	return &settlementv1.ExtendReservationResponse{Result: &settlementv1.ExtendReservationResponse_Reservation{
		Reservation: wire.Reservation(&answer.View),
	}}, nil
}

// BeginSubmission gives the permit to send one request.
func (s *Server) BeginSubmission(ctx context.Context, req *settlementv1.BeginSubmissionRequest) (*settlementv1.BeginSubmissionResponse, error) {
	in := parseSubmission(req)
	answer, err := lane.Do(ctx, s.lanes, ledger.TenantID(req.GetTenantId()), in.Keys(), func(b *ledger.Book) (ledger.PermitAnswer, error) {
		return b.BeginSubmission(in)
	})
	if err != nil {
		return nil, err
	}
	return respondPermit(&answer), nil
}

// ReportSubmission journals what became of a request.
func (s *Server) ReportSubmission(ctx context.Context, req *settlementv1.ReportSubmissionRequest) (*settlementv1.ReportSubmissionResponse, error) {
	in, err := parseReport(req)
	if err != nil {
		return nil, err
	}
	answer, err := lane.Do(ctx, s.lanes, ledger.TenantID(req.GetTenantId()), in.Keys(), func(b *ledger.Book) (ledger.Answer, error) {
		return b.Report(in)
	})
	if err != nil {
		return nil, err
	}
	return respondReport(&answer, in.Key), nil
}

// GetReservation reads one reservation. While a transaction that touches it is neither committed nor aborted, there is no true answer.
func (s *Server) GetReservation(ctx context.Context, req *settlementv1.GetReservationRequest) (*settlementv1.GetReservationResponse, error) {
	tenant, id := ledger.TenantID(req.GetTenantId()), ledger.ReservationID(req.GetReservationId())
	if s.lanes.InDoubt(tenant, id) {
		return nil, fmt.Errorf("%w: a transaction on reservation %s is not decided yet", lane.ErrUnavailable, id)
	}
	view, err := s.reader.Reservation(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	return &settlementv1.GetReservationResponse{Reservation: wire.Reservation(&view)}, nil
}

func keysOf(id ledger.ReservationID) ledger.Keys {
	return ledger.Keys{Reservations: []ledger.ReservationID{id}}
}
