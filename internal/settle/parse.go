package settle

import (
	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

func parse(req *settlementv1.SettleRequest) (ledger.Settlement, error) {
	in := ledger.Settlement{
		Reservation: ledger.ReservationID(req.GetReservationId()), Key: ledger.RequestKey(req.GetRequestKey()),
		CheckKey: ledger.RequestKey(req.GetCheckRequestKey()), Task: ledger.TaskID(req.GetProviderTaskId()),
		Observer: wire.Observers.Word(req.GetObserver()), NotSent: ledger.Token(req.GetNotSent().GetPermitToken()),
	}
	switch o := req.GetOutcome().(type) {
	case *settlementv1.SettleRequest_Completed:
		in.Outcome = ledger.SettledOutcome{Kind: ledger.OutcomeCompleted, Charge: (*ledger.Amount)(o.Completed.Charge)}
		in.Cost = wire.ToMoney(o.Completed.GetCost())
		in.OutputCheck = wire.OutputChecks.Word(o.Completed.GetOutputCheck())
	case *settlementv1.SettleRequest_ProviderFailed:
		in.Outcome = ledger.SettledOutcome{Kind: ledger.OutcomeProviderFailed, Code: o.ProviderFailed.GetCode()}
		in.Cost = wire.ToMoney(o.ProviderFailed.GetCost())
	case *settlementv1.SettleRequest_PolicyRejected:
		in.Outcome = ledger.SettledOutcome{
			Kind: ledger.OutcomePolicyRejected, Stage: wire.Stages.Word(o.PolicyRejected.GetStage()), Categories: o.PolicyRejected.GetCategories(),
		}
		in.Cost = wire.ToMoney(o.PolicyRejected.GetCost())
	case *settlementv1.SettleRequest_ModerationUnavailable:
		in.Outcome = ledger.SettledOutcome{
			Kind: ledger.OutcomeModerationUnavailable, Stage: wire.Stages.Word(o.ModerationUnavailable.GetStage()),
			Cause: wire.UnavailableCauses.Word(o.ModerationUnavailable.GetCause()),
		}
	case *settlementv1.SettleRequest_SubmissionUncertain:
		in.UncertainFor = wire.UncertainCauses.Word(o.SubmissionUncertain.GetCause())
	case *settlementv1.SettleRequest_Cancelled:
		in.Outcome = ledger.SettledOutcome{Kind: ledger.OutcomeCancelled, Cause: o.Cancelled.GetReason()}
	default:
		return in, invalid("outcome", "is required")
	}
	return in, in.Check()
}

func invalid(field, text string) error {
	return &ledger.Error{Kind: ledger.Invalid, Field: field, Message: text}
}
