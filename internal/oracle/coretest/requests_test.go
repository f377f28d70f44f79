package coretest

import (
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/oracle"
)

// cost is what a call says its line cost, or nil.
func cost(said oracle.Said) *ledger.Money {
	n := said.Number("cost")
	if n == nil {
		return nil
	}
	return &ledger.Money{Micros: ledger.Micros(*n), Currency: said.Currency()}
}

func report(said oracle.Said) ledger.Report {
	in := ledger.Report{
		Reservation: subject, Key: ledger.RequestKey(said.Key()), Token: ledger.Token(said.Token()), Task: ledger.TaskID(said.Task()),
		Cost: cost(said),
	}
	in.Knowledge = map[string]ledger.Knowledge{
		"accepted": ledger.LineAccepted, "not_accepted": ledger.LineNotAccepted, "not_sent": ledger.LineNotSent,
		"uncertain": ledger.LineUncertain, "succeeded": ledger.LineSucceeded, "failed": ledger.LineFailed,
	}[said.Fact]
	if said.Fact == "uncertain" {
		in.Cause = "TIMEOUT"
	}
	return in
}

func settlement(said oracle.Said) ledger.Settlement {
	in := ledger.Settlement{
		Reservation: subject, Key: ledger.RequestKey(said.Key()), CheckKey: ledger.RequestKey(said.CheckKey()),
		Task: ledger.TaskID(said.Task()), Observer: ledger.Observer(said.Observer()), NotSent: ledger.Token(said.NotSent()),
		Cost: cost(said), OutputCheck: ledger.OutputCheck(said.Args["output_check"]),
	}
	in.Outcome = ledger.SettledOutcome{Stage: ledger.Stage(said.Stage()), Charge: (*ledger.Amount)(said.Number("charge"))}
	switch said.Fact {
	case "completed":
		in.Outcome.Kind = ledger.OutcomeCompleted
	case "provider_failed":
		in.Outcome.Kind, in.Outcome.Code = ledger.OutcomeProviderFailed, "overloaded"
	case "policy_rejected":
		in.Outcome.Kind, in.Outcome.Categories = ledger.OutcomePolicyRejected, []string{"violence"}
	case "moderation_unavailable":
		in.Outcome.Kind, in.Outcome.Cause = ledger.OutcomeModerationUnavailable, "TIMEOUT"
	case "cancelled":
		in.Outcome.Kind, in.Outcome.Cause = ledger.OutcomeCancelled, "changed my mind"
	case "submission_uncertain":
		in.UncertainFor = "TIMEOUT"
	}
	return in
}

func proof(said oracle.Said) ledger.Proof {
	in := ledger.Proof{
		Reservation: subject, Key: ledger.RequestKey(said.Key()), Task: ledger.TaskID(said.Task()), Cost: cost(said),
		OutputCheck: ledger.OutputCheck(said.Args["output_check"]), TTLSeconds: said.Number("ttl"),
		Source: ledger.Source{Kind: "PROVIDER_API", Reference: "GET /v1/generations"},
	}
	in.Kind = map[string]ledger.ProofKind{
		"accepted": ledger.ProofAccepted, "not_received": ledger.ProofNotReceived, "succeeded": ledger.ProofSucceeded,
		"failed": ledger.ProofFailed, "cost_confirmed": ledger.ProofCostConfirmed, "nothing_charged": ledger.ProofNothingCharged,
		"given_up": ledger.ProofGivenUp, "still_unknown": ledger.ProofStillUnknown,
	}[said.Fact]
	switch said.Fact {
	case "not_received":
		in.TTLSeconds = said.Number("resume")
	case "given_up":
		in.Reason = "nobody will ever know"
	case "still_unknown":
		in.Reason = "TIMEOUT"
	}
	return in
}
