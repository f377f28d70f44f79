package apptest

import (
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// Report is a request that says what became of a submission. Its fact is a *NotSent, or one of the reports.
func Report(id, key string, fact any) *settlementv1.ReportSubmissionRequest {
	req := &settlementv1.ReportSubmissionRequest{TenantId: Tenant, ReservationId: id, RequestKey: key}
	switch f := fact.(type) {
	case *settlementv1.AcceptedReport:
		req.Fact = &settlementv1.ReportSubmissionRequest_Accepted{Accepted: f}
	case *settlementv1.NotAcceptedReport:
		req.Fact = &settlementv1.ReportSubmissionRequest_NotAccepted{NotAccepted: f}
	case *settlementv1.NotSent:
		req.Fact = &settlementv1.ReportSubmissionRequest_NotSent{NotSent: f}
	case *settlementv1.UncertainReport:
		req.Fact = &settlementv1.ReportSubmissionRequest_Uncertain{Uncertain: f}
	case *settlementv1.EndedReport:
		req.Fact = &settlementv1.ReportSubmissionRequest_Ended{Ended: f}
	}
	return req
}

// Accepted says that the provider took the request.
func Accepted(task string) *settlementv1.AcceptedReport {
	return &settlementv1.AcceptedReport{ProviderTaskId: task}
}

// NotAccepted says that the provider refused the request.
func NotAccepted(cost *settlementv1.Money) *settlementv1.NotAcceptedReport {
	return &settlementv1.NotAcceptedReport{Cost: cost}
}

// Unsent says that a key's permit was not used.
func Unsent(key string) *settlementv1.NotSent { return &settlementv1.NotSent{PermitToken: Token(key)} }

// Unsure says that the request may have arrived.
func Unsure() *settlementv1.UncertainReport {
	return &settlementv1.UncertainReport{Cause: settlementv1.UncertainCause_UNCERTAIN_CAUSE_CONNECTION_LOST}
}

// EndedWell says that the provider did the work.
func EndedWell(cost *settlementv1.Money) *settlementv1.EndedReport {
	return &settlementv1.EndedReport{End: settlementv1.ReportedEnd_REPORTED_END_SUCCEEDED, Cost: cost}
}

// EndedBadly says that the provider failed.
func EndedBadly(cost *settlementv1.Money) *settlementv1.EndedReport {
	return &settlementv1.EndedReport{End: settlementv1.ReportedEnd_REPORTED_END_FAILED, Cost: cost}
}

// Report says what became of a submission, and fails the test when it gets no answer.
func (s *Service) Report(t testing.TB, id, key string, fact any) *settlementv1.ReportSubmissionResponse {
	t.Helper()
	return must(t)(s.Reservations.ReportSubmission(t.Context(), Report(id, key, fact))).(*settlementv1.ReportSubmissionResponse)
}

// Proof is a request with evidence about a line, from the provider's API.
func Proof(id, key string, kind any) *settlementv1.ReconcileRequest {
	e := &settlementv1.Evidence{}
	switch k := kind.(type) {
	case *settlementv1.AcceptedEvidence:
		e.Kind = &settlementv1.Evidence_Accepted{Accepted: k}
	case *settlementv1.NotReceivedEvidence:
		e.Kind = &settlementv1.Evidence_NotReceived{NotReceived: k}
	case *settlementv1.SucceededEvidence:
		e.Kind = &settlementv1.Evidence_Succeeded{Succeeded: k}
	case *settlementv1.FailedEvidence:
		e.Kind = &settlementv1.Evidence_Failed{Failed: k}
	case *settlementv1.CostConfirmedEvidence:
		e.Kind = &settlementv1.Evidence_CostConfirmed{CostConfirmed: k}
	case *settlementv1.NothingChargedEvidence:
		e.Kind = &settlementv1.Evidence_NothingCharged{NothingCharged: k}
	case *settlementv1.GivenUpEvidence:
		e.Kind = &settlementv1.Evidence_GivenUp{GivenUp: k}
	case *settlementv1.StillUnknownEvidence:
		e.Kind = &settlementv1.Evidence_StillUnknown{StillUnknown: k}
	}
	return &settlementv1.ReconcileRequest{
		TenantId: Tenant, ReservationId: id, RequestKey: key, Evidence: e,
		Source: &settlementv1.EvidenceSource{Kind: settlementv1.SourceKind_SOURCE_KIND_PROVIDER_API, Reference: "GET /v1/generations"},
	}
}

// NotReceived is evidence that the request never arrived.
func NotReceived() *settlementv1.NotReceivedEvidence { return &settlementv1.NotReceivedEvidence{} }

// Resumed is evidence that the request never arrived, and opens the reservation for another attempt.
func Resumed(ttl int64) *settlementv1.NotReceivedEvidence {
	return &settlementv1.NotReceivedEvidence{Resume: &settlementv1.Resume{TtlSeconds: ttl}}
}

// Running is evidence that the provider has the request.
func Running(task string) *settlementv1.AcceptedEvidence {
	return &settlementv1.AcceptedEvidence{ProviderTaskId: task}
}

// Succeeded is evidence that the provider did the work, with the verdict on the output.
func Succeeded(check settlementv1.EvidenceOutputCheck, cost *settlementv1.Money) *settlementv1.SucceededEvidence {
	return &settlementv1.SucceededEvidence{OutputCheck: &check, Cost: cost}
}

// CheckSucceeded is evidence that a check was done.
func CheckSucceeded(cost *settlementv1.Money) *settlementv1.SucceededEvidence {
	return &settlementv1.SucceededEvidence{Cost: cost}
}

// FailedThere is evidence that the provider took the request and failed.
func FailedThere(cost *settlementv1.Money) *settlementv1.FailedEvidence {
	return &settlementv1.FailedEvidence{Cost: cost}
}

// Costs is evidence of what the provider charges.
func Costs(micros int64) *settlementv1.CostConfirmedEvidence {
	return &settlementv1.CostConfirmedEvidence{Cost: Money(micros)}
}

// Free is evidence that the provider charges nothing.
func Free() *settlementv1.NothingChargedEvidence { return &settlementv1.NothingChargedEvidence{} }

// GivenUp is an operator's verdict that nobody will ever know.
func GivenUp() *settlementv1.GivenUpEvidence {
	return &settlementv1.GivenUpEvidence{Reason: "the provider's support has no trace of it"}
}

// StillUnknown is an attempt to learn something that failed.
func StillUnknown(cause settlementv1.UncertainCause) *settlementv1.StillUnknownEvidence {
	return &settlementv1.StillUnknownEvidence{Cause: cause}
}

// Reconcile brings evidence, and fails the test when it gets no answer.
func (s *Service) Reconcile(t testing.TB, id, key string, kind any) *settlementv1.ReconcileResponse {
	t.Helper()
	return must(t)(s.Reconciliation.Reconcile(t.Context(), Proof(id, key, kind))).(*settlementv1.ReconcileResponse)
}
