package reserve

import (
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

func (s *Server) parseReserve(req *settlementv1.ReserveRequest) ledger.Reserve {
	in := ledger.Reserve{
		ID: ledger.ReservationID(req.GetReservationId()),
		Asked: ledger.Asked{
			Account: ledger.AccountID(req.GetAccountId()), Provider: ledger.ProviderID(req.GetProviderId()),
			Funding: parseFunding(req.GetFunding()), Budget: ledger.Micros(req.GetBudgetMicros()), Currency: req.GetCurrency(),
			TTLSeconds: req.TtlSeconds, SubmissionKey: ledger.RequestKey(req.GetSubmission().GetRequestKey()), Labels: req.GetLabels(),
		},
		Token:         ledger.Token(req.GetSubmission().GetPermitToken()),
		TTLSeconds:    int64(s.config.DefaultTTL / time.Second),
		MaxAgeSeconds: int64(s.config.MaxAge / time.Second),
	}
	if req.TtlSeconds != nil {
		in.TTLSeconds = req.GetTtlSeconds()
	}
	return in
}

func parseFunding(f *settlementv1.Funding) ledger.Funding {
	switch source := f.GetSource().(type) {
	case *settlementv1.Funding_FreeAttempt:
		return ledger.Funding{Kind: ledger.FundFreeAttempt}
	case *settlementv1.Funding_FreeAttemptOrCredits:
		return ledger.Funding{Kind: ledger.FundFreeAttemptOrCredits, Credits: ledger.Amount(source.FreeAttemptOrCredits)}
	default: // the message is valid: one of the three is set
		return ledger.Funding{Kind: ledger.FundCredits, Credits: ledger.Amount(f.GetCredits())}
	}
}

func parseSubmission(req *settlementv1.BeginSubmissionRequest) ledger.BeginSubmission {
	in := ledger.BeginSubmission{
		Reservation: ledger.ReservationID(req.GetReservationId()), Key: ledger.RequestKey(req.GetRequestKey()),
		Token: ledger.Token(req.GetPermitToken()), Kind: ledger.Generation, Resend: req.GetGeneration().GetResend(),
	}
	if m := req.GetModeration(); m != nil {
		in.Kind, in.Stage, in.CheckTimeoutSeconds = ledger.Moderation, wire.Stages.Word(m.GetStage()), m.GetCheckTimeoutSeconds()
	}
	return in
}

func parseReport(req *settlementv1.ReportSubmissionRequest) (ledger.Report, error) {
	in := ledger.Report{Reservation: ledger.ReservationID(req.GetReservationId()), Key: ledger.RequestKey(req.GetRequestKey())}
	switch fact := req.GetFact().(type) {
	case *settlementv1.ReportSubmissionRequest_Accepted:
		in.Knowledge, in.Task = ledger.LineAccepted, ledger.TaskID(fact.Accepted.GetProviderTaskId())
	case *settlementv1.ReportSubmissionRequest_NotAccepted:
		in.Knowledge, in.Cost = ledger.LineNotAccepted, wire.ToMoney(fact.NotAccepted.GetCost())
	case *settlementv1.ReportSubmissionRequest_NotSent:
		in.Knowledge, in.Token = ledger.LineNotSent, ledger.Token(fact.NotSent.GetPermitToken())
	case *settlementv1.ReportSubmissionRequest_Uncertain:
		in.Knowledge, in.Cause = ledger.LineUncertain, wire.UncertainCauses.Word(fact.Uncertain.GetCause())
	case *settlementv1.ReportSubmissionRequest_Ended:
		in.Knowledge, in.Cost = ledger.LineSucceeded, wire.ToMoney(fact.Ended.GetCost())
		if fact.Ended.GetEnd() == settlementv1.ReportedEnd_REPORTED_END_FAILED {
			in.Knowledge = ledger.LineFailed
		}
	default:
		return in, &ledger.Error{Kind: ledger.Invalid, Field: "fact", Message: "is required"}
	}
	return in, nil
}
