package reconcile

import (
	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

func parse(req *settlementv1.ReconcileRequest) (ledger.Proof, error) {
	in := ledger.Proof{
		Reservation: ledger.ReservationID(req.GetReservationId()), Key: ledger.RequestKey(req.GetRequestKey()),
		Source: ledger.Source{Kind: wire.SourceKinds.Word(req.GetSource().GetKind()), Reference: req.GetSource().GetReference()},
	}
	if at := req.GetSource().GetObservedAt(); at != nil {
		if err := at.CheckValid(); err != nil {
			return in, invalid("source.observed_at", "is not a time")
		}
		in.Source.ObservedAt = at.AsTime()
	}
	switch e := req.GetEvidence().GetKind().(type) {
	case *settlementv1.Evidence_Accepted:
		in.Kind, in.Task, in.TTLSeconds = ledger.ProofAccepted, ledger.TaskID(e.Accepted.GetProviderTaskId()), e.Accepted.TtlSeconds
	case *settlementv1.Evidence_NotReceived:
		in.Kind = ledger.ProofNotReceived
		if resume := e.NotReceived.GetResume(); resume != nil {
			in.TTLSeconds = &resume.TtlSeconds
		}
	case *settlementv1.Evidence_Succeeded:
		in.Kind, in.Task = ledger.ProofSucceeded, ledger.TaskID(e.Succeeded.GetProviderTaskId())
		in.Cost, in.OutputCheck = wire.ToMoney(e.Succeeded.GetCost()), wire.EvidenceOutputChecks.Word(e.Succeeded.GetOutputCheck())
	case *settlementv1.Evidence_Failed:
		in.Kind, in.Task = ledger.ProofFailed, ledger.TaskID(e.Failed.GetProviderTaskId())
		in.Cost = wire.ToMoney(e.Failed.GetCost())
	case *settlementv1.Evidence_CostConfirmed:
		in.Kind, in.Cost = ledger.ProofCostConfirmed, wire.ToMoney(e.CostConfirmed.GetCost())
	case *settlementv1.Evidence_NothingCharged:
		in.Kind = ledger.ProofNothingCharged
	case *settlementv1.Evidence_GivenUp:
		in.Kind, in.Reason = ledger.ProofGivenUp, e.GivenUp.GetReason()
	case *settlementv1.Evidence_StillUnknown:
		in.Kind, in.Reason = ledger.ProofStillUnknown, wire.UncertainCauses.Word(e.StillUnknown.GetCause())
	default:
		return in, invalid("evidence", "is required")
	}
	return in, nil
}

func invalid(field, text string) error {
	return &ledger.Error{Kind: ledger.Invalid, Field: field, Message: text}
}
