package servicetest

import (
	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/oracle"
)

// cost is what a call says its line cost, or nil.
func cost(said oracle.Said) *settlementv1.Money {
	n := said.Number("cost")
	if n == nil {
		return nil
	}
	return &settlementv1.Money{AmountMicros: *n, Currency: said.Currency()}
}

func stageOf(said oracle.Said) settlementv1.Stage {
	return settlementv1.Stage(settlementv1.Stage_value["STAGE_"+said.Stage()])
}

// optional is a text that may be absent.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func reserveRequest(a *actor, said oracle.Said) *settlementv1.ReserveRequest {
	id := a.name
	if said.Args["reservation"] == "another" {
		id = a.another()
	}
	return apptest.Reserve(id, "", func(r *settlementv1.ReserveRequest) {
		r.AccountId, r.ProviderId, r.Currency = a.name, a.name, a.terms.Currency
		r.BudgetMicros = said.Asked("budget", a.terms.Budget)
		r.Funding = &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: said.Asked("credits", a.terms.Credits)}}
		if a.terms.Funding == "FREE_ATTEMPT" {
			r.Funding.Source = &settlementv1.Funding_FreeAttempt{FreeAttempt: &settlementv1.FreeAttempt{}}
		}
		if said.Part != "" {
			r.Submission = &settlementv1.Submission{RequestKey: said.Key(), PermitToken: said.Token()}
		}
	})
}

func beginRequest(a *actor, said oracle.Said) *settlementv1.BeginSubmissionRequest {
	req := apptest.Submission(a.name, said.Key())
	req.PermitToken = said.Token()
	if said.Fact == "moderation" {
		req.Kind = &settlementv1.BeginSubmissionRequest_Moderation{Moderation: &settlementv1.ModerationSubmission{
			Stage: stageOf(said), CheckTimeoutSeconds: a.terms.CheckTimeout,
		}}
		return req
	}
	req.GetGeneration().Resend = said.Args["resend"] == "YES"
	return req
}

func reportRequest(a *actor, said oracle.Said) *settlementv1.ReportSubmissionRequest {
	facts := map[string]any{
		"accepted": apptest.Accepted(said.Task()), "not_accepted": apptest.NotAccepted(cost(said)), "uncertain": apptest.Unsure(),
		"not_sent":  &settlementv1.NotSent{PermitToken: said.Token()},
		"succeeded": apptest.EndedWell(cost(said)), "failed": apptest.EndedBadly(cost(said)),
	}
	return apptest.Report(a.name, said.Key(), facts[said.Fact])
}

func settleRequest(a *actor, said oracle.Said) *settlementv1.SettleRequest {
	var outcome any
	switch said.Fact {
	case "completed":
		outcome = &settlementv1.CompletedOutcome{
			OutputCheck: settlementv1.OutputCheck(settlementv1.OutputCheck_value["OUTPUT_CHECK_"+said.Args["output_check"]]),
			Charge:      said.Number("charge"), Cost: cost(said),
		}
	case "provider_failed":
		outcome = apptest.Failed(cost(said))
	case "policy_rejected":
		outcome = apptest.Rejected(stageOf(said), cost(said))
	case "moderation_unavailable":
		outcome = apptest.Unavailable(stageOf(said))
	case "submission_uncertain":
		outcome = apptest.Uncertain()
	case "cancelled":
		outcome = apptest.Cancelled()
	}
	return apptest.Settlement(a.name, said.Key(), outcome, func(r *settlementv1.SettleRequest) {
		r.CheckRequestKey, r.ProviderTaskId = optional(said.CheckKey()), optional(said.Task())
		r.Observer = settlementv1.Observer(settlementv1.Observer_value["OBSERVER_"+said.Observer()])
		if token := said.NotSent(); token != "" {
			r.NotSent = &settlementv1.NotSent{PermitToken: token}
		}
	})
}

func reconcileRequest(a *actor, said oracle.Said) *settlementv1.ReconcileRequest {
	return apptest.Proof(a.name, said.Key(), evidence(said))
}

func evidence(said oracle.Said) any {
	switch said.Fact {
	case "accepted":
		return &settlementv1.AcceptedEvidence{ProviderTaskId: said.Task(), TtlSeconds: said.Number("ttl")}
	case "not_received":
		if ttl := said.Number("resume"); ttl != nil {
			return apptest.Resumed(*ttl)
		}
		return apptest.NotReceived()
	case "succeeded":
		e := &settlementv1.SucceededEvidence{Cost: cost(said), ProviderTaskId: optional(said.Task())}
		if word := said.Args["output_check"]; word != "" {
			e.OutputCheck = settlementv1.EvidenceOutputCheck(settlementv1.EvidenceOutputCheck_value["EVIDENCE_OUTPUT_CHECK_"+word]).Enum()
		}
		return e
	case "failed":
		return &settlementv1.FailedEvidence{Cost: cost(said), ProviderTaskId: optional(said.Task())}
	case "cost_confirmed":
		return &settlementv1.CostConfirmedEvidence{Cost: cost(said)}
	case "nothing_charged":
		return apptest.Free()
	case "given_up":
		return apptest.GivenUp()
	default:
		return apptest.StillUnknown(settlementv1.UncertainCause_UNCERTAIN_CAUSE_TIMEOUT)
	}
}
