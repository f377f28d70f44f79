package reserve

import (
	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/rpc"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

func respondReserve(a *ledger.ReserveAnswer) *settlementv1.ReserveResponse {
	if len(a.Denied) > 0 {
		denied := &settlementv1.Denied{}
		for _, d := range a.Denied {
			m := &settlementv1.Denial{Reason: wire.DenialReasons.Enum(d.Reason), Asked: d.Asked, Available: d.Available}
			if d.Reason == ledger.ProviderBusy {
				m.Uncertain = &d.Uncertain
			}
			denied.Denials = append(denied.Denials, m)
		}
		return &settlementv1.ReserveResponse{Result: &settlementv1.ReserveResponse_Denied{Denied: denied}}
	}
	return &settlementv1.ReserveResponse{Result: &settlementv1.ReserveResponse_Granted{Granted: &settlementv1.Granted{
		Reservation: wire.Reservation(&a.View), Replayed: a.Replayed, Permit: wire.Permit(a.Permit),
	}}}
}

func respondReserves(results []rpc.BatchResult[ledger.ReserveAnswer]) *settlementv1.BatchReserveResponse {
	m := &settlementv1.BatchReserveResponse{Results: make([]*settlementv1.ReserveResult, len(results))}
	for i, r := range results {
		if r.Error != nil {
			m.Results[i] = &settlementv1.ReserveResult{Result: &settlementv1.ReserveResult_Error{Error: r.Error}}
			continue
		}
		m.Results[i] = &settlementv1.ReserveResult{Result: &settlementv1.ReserveResult_Response{Response: respondReserve(r.Answer)}}
	}
	return m
}

func respondPermit(a *ledger.PermitAnswer) *settlementv1.BeginSubmissionResponse {
	m := &settlementv1.BeginSubmissionResponse{Reservation: wire.Reservation(&a.View)}
	switch {
	case a.Permit != nil:
		m.Result = &settlementv1.BeginSubmissionResponse_Permit{Permit: wire.Permit(a.Permit)}
	case a.AlreadyGranted != nil:
		m.Result = &settlementv1.BeginSubmissionResponse_AlreadyGranted{
			AlreadyGranted: wire.Line(a.AlreadyGranted, a.View.Asked.Currency),
		}
	default:
		m.Result = &settlementv1.BeginSubmissionResponse_Refused{Refused: wire.PermitRefusals.Enum(a.Refused)}
	}
	return m
}

func respondReport(a *ledger.Answer, key ledger.RequestKey) *settlementv1.ReportSubmissionResponse {
	m := &settlementv1.ReportSubmissionResponse{
		Disposition: wire.Dispositions.Enum(a.Disposition), RefusedReason: wire.RefusedReasons.Enum(a.Refused),
		Reservation: wire.Reservation(&a.View), Exceptions: wire.Exceptions(a.Exceptions),
	}
	for i := range a.View.Lines {
		if l := &a.View.Lines[i]; l.Key == key {
			m.Line = wire.Line(l, a.View.Asked.Currency)
		}
	}
	return m
}
