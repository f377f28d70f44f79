package reconcile

import (
	"context"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// ListExceptions lists the facts that could not be applied, the first seen first.
func (s *Server) ListExceptions(ctx context.Context, req *settlementv1.ListExceptionsRequest) (*settlementv1.ListExceptionsResponse, error) {
	at, id, err := wire.ParsePageToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	filter := ledgerdb.ExceptionFilter{Reservation: ledger.ReservationID(req.GetReservationId()), Open: !req.GetIncludeResolved()}
	for _, r := range req.GetReasons() {
		filter.Reasons = append(filter.Reasons, wire.ExceptionReasons.Word(r))
	}
	page := ledgerdb.Page{After: ledgerdb.Cursor{At: at, ID: id}, Size: wire.PageSize(req.PageSize)}
	found, err := s.reader.Exceptions(ctx, ledger.TenantID(req.GetTenantId()), filter, page)
	if err != nil {
		return nil, err
	}
	m := &settlementv1.ListExceptionsResponse{}
	for i := range found {
		m.Exceptions = append(m.Exceptions, respondException(&found[i]))
	}
	if len(found) == page.Size {
		last := &found[len(found)-1]
		m.NextPageToken = wire.PageToken(last.FirstSeenAt, string(last.ID))
	}
	return m, nil
}

// ResolveException dismisses an exception, or makes the cost that it states true.
func (s *Server) ResolveException(ctx context.Context, req *settlementv1.ResolveExceptionRequest) (*settlementv1.ResolveExceptionResponse, error) {
	tenant := ledger.TenantID(req.GetTenantId())
	in := ledger.Resolve{Exception: ledger.ExceptionID(req.GetExceptionId())}
	switch r := req.GetResolution().(type) {
	case *settlementv1.ResolveExceptionRequest_Dismiss:
		in.As, in.Reason = ledger.Dismissed, r.Dismiss.GetReason()
	case *settlementv1.ResolveExceptionRequest_Apply:
		in.As, in.Reason = ledger.ExceptionApplied, r.Apply.GetReason()
	default:
		return nil, invalid("resolution", "is required")
	}
	// Which reservation an exception is of never changes, so it can be looked up before the locks.
	e, err := s.reader.Exception(ctx, tenant, in.Exception)
	if err != nil {
		return nil, err
	}
	in.Reservation, in.Key = e.Reservation, e.RequestKey
	a, err := lane.Do(ctx, s.lanes, tenant, in.Keys(), func(b *ledger.Book) (ledger.ResolveAnswer, error) { return b.Resolve(in) })
	if err != nil {
		return nil, err
	}
	return &settlementv1.ResolveExceptionResponse{
		Refused: wire.ResolveRefusals.Enum(a.Refused), Replayed: a.Replayed,
		Exception: respondException(&a.Exception), Reservation: wire.Reservation(&a.View),
	}, nil
}

func respondException(e *ledger.Exception) *settlementv1.Exception {
	m := &settlementv1.Exception{
		ExceptionId: string(e.ID), ReservationId: string(e.Reservation), RequestKey: string(e.RequestKey),
		Reason: wire.ExceptionReasons.Enum(e.Reason), Fact: e.Fact, Observer: wire.Observers.Enum(e.Observer), Count: e.Count,
		FirstSeenAt: wire.Time(e.FirstSeenAt), LastSeenAt: wire.Time(e.LastSeenAt),
		Resolution: wire.Resolutions.Enum(e.Resolution), ResolutionReason: e.ResolutionReason, ResolvedAt: wire.Time(e.ResolvedAt),
	}
	if e.Cost != nil {
		m.Cost = wire.Money(&e.Cost.Micros, e.Cost.Currency)
	}
	return m
}
