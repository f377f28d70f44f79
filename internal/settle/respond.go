package settle

import (
	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/rpc"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

func respond(a *ledger.Answer) *settlementv1.SettleResponse {
	return &settlementv1.SettleResponse{
		Disposition: wire.Dispositions.Enum(a.Disposition), HeldReason: wire.HeldReasons.Enum(a.Held),
		RefusedReason: wire.RefusedReasons.Enum(a.Refused), Reservation: wire.Reservation(&a.View), Exceptions: wire.Exceptions(a.Exceptions),
	}
}

func respondAll(results []rpc.BatchResult[ledger.Answer]) *settlementv1.BatchSettleResponse {
	m := &settlementv1.BatchSettleResponse{Results: make([]*settlementv1.SettleResult, len(results))}
	for i, r := range results {
		if r.Error != nil {
			m.Results[i] = &settlementv1.SettleResult{Result: &settlementv1.SettleResult_Error{Error: r.Error}}
			continue
		}
		m.Results[i] = &settlementv1.SettleResult{Result: &settlementv1.SettleResult_Response{Response: respond(r.Answer)}}
	}
	return m
}
