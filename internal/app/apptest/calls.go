package apptest

import (
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// The two stages of a check.
const (
	Input  = settlementv1.Stage_STAGE_INPUT
	Output = settlementv1.Stage_STAGE_OUTPUT
)

// Settlement is a request with one outcome of a reservation, seen by its worker. An empty key names no generation.
func Settlement(id, key string, outcome any, change ...func(*settlementv1.SettleRequest)) *settlementv1.SettleRequest {
	req := &settlementv1.SettleRequest{TenantId: Tenant, ReservationId: id, Observer: settlementv1.Observer_OBSERVER_WORKER}
	if key != "" {
		req.RequestKey = new(key)
	}
	switch o := outcome.(type) {
	case *settlementv1.CompletedOutcome:
		req.Outcome = &settlementv1.SettleRequest_Completed{Completed: o}
	case *settlementv1.ProviderFailedOutcome:
		req.Outcome = &settlementv1.SettleRequest_ProviderFailed{ProviderFailed: o}
	case *settlementv1.PolicyRejectedOutcome:
		req.Outcome = &settlementv1.SettleRequest_PolicyRejected{PolicyRejected: o}
	case *settlementv1.ModerationUnavailableOutcome:
		req.Outcome = &settlementv1.SettleRequest_ModerationUnavailable{ModerationUnavailable: o}
	case *settlementv1.SubmissionUncertainOutcome:
		req.Outcome = &settlementv1.SettleRequest_SubmissionUncertain{SubmissionUncertain: o}
	case *settlementv1.CancelledOutcome:
		req.Outcome = &settlementv1.SettleRequest_Cancelled{Cancelled: o}
	}
	for _, f := range change {
		f(req)
	}
	return req
}

// Completed is an output that passed its check. No cost is an unknown one.
func Completed(cost *settlementv1.Money) *settlementv1.CompletedOutcome {
	return &settlementv1.CompletedOutcome{OutputCheck: settlementv1.OutputCheck_OUTPUT_CHECK_PASSED, Cost: cost}
}

// Charged is an output that passed its check and captures only a part of the hold.
func Charged(charge int64, cost *settlementv1.Money) *settlementv1.CompletedOutcome {
	o := Completed(cost)
	o.Charge = &charge
	return o
}

// Failed is a failure of the provider.
func Failed(cost *settlementv1.Money) *settlementv1.ProviderFailedOutcome {
	return &settlementv1.ProviderFailedOutcome{Code: "overloaded", Cost: cost}
}

// Rejected is the verdict no of a check.
func Rejected(stage settlementv1.Stage, cost *settlementv1.Money) *settlementv1.PolicyRejectedOutcome {
	return &settlementv1.PolicyRejectedOutcome{Stage: stage, Categories: []string{"violence"}, Cost: cost}
}

// Unavailable is a check that gave no verdict.
func Unavailable(stage settlementv1.Stage) *settlementv1.ModerationUnavailableOutcome {
	return &settlementv1.ModerationUnavailableOutcome{Stage: stage, Cause: settlementv1.UnavailableCause_UNAVAILABLE_CAUSE_TIMEOUT}
}

// Uncertain is a submission of which nobody knows whether it arrived.
func Uncertain() *settlementv1.SubmissionUncertainOutcome {
	return &settlementv1.SubmissionUncertainOutcome{Cause: settlementv1.UncertainCause_UNCERTAIN_CAUSE_TIMEOUT}
}

// Cancelled is a job that is no longer wanted.
func Cancelled() *settlementv1.CancelledOutcome {
	return &settlementv1.CancelledOutcome{Reason: "the customer changed their mind"}
}

// NotSent adds the word of a key's permit holder that nothing was sent. The token is the one that Reserve and Permit ask with.
func NotSent(key string) func(*settlementv1.SettleRequest) {
	return func(r *settlementv1.SettleRequest) { r.NotSent = &settlementv1.NotSent{PermitToken: Token(key)} }
}

// Checked adds the key of the check that an outcome rests on.
func Checked(key string) func(*settlementv1.SettleRequest) {
	return func(r *settlementv1.SettleRequest) { r.CheckRequestKey = new(key) }
}

// SeenBy changes who saw the outcome.
func SeenBy(o settlementv1.Observer) func(*settlementv1.SettleRequest) {
	return func(r *settlementv1.SettleRequest) { r.Observer = o }
}

// Token is the permit token that goes with a key.
func Token(key string) string { return "token-" + key }

// Settle sends an outcome, and fails the test when it gets no answer.
func (s *Service) Settle(t testing.TB, id, key string, outcome any, change ...func(*settlementv1.SettleRequest)) *settlementv1.SettleResponse {
	t.Helper()
	return must(t)(s.Settlements.Settle(t.Context(), Settlement(id, key, outcome, change...))).(*settlementv1.SettleResponse)
}

// Submission is a request for a generation's permit.
func Submission(id, key string) *settlementv1.BeginSubmissionRequest {
	return &settlementv1.BeginSubmissionRequest{
		TenantId: Tenant, ReservationId: id, RequestKey: key, PermitToken: Token(key),
		Kind: &settlementv1.BeginSubmissionRequest_Generation{Generation: &settlementv1.GenerationSubmission{}},
	}
}

// Resend is a request to send a generation once more under its key.
func Resend(id, key string) *settlementv1.BeginSubmissionRequest {
	req := Submission(id, key)
	req.GetGeneration().Resend = true
	return req
}

// Check is a request for a check's permit. Its answer is waited for 60 seconds.
func Check(id, key string, stage settlementv1.Stage) *settlementv1.BeginSubmissionRequest {
	req := Submission(id, key)
	req.Kind = &settlementv1.BeginSubmissionRequest_Moderation{
		Moderation: &settlementv1.ModerationSubmission{Stage: stage, CheckTimeoutSeconds: 60},
	}
	return req
}

// Begin asks for a permit, and fails the test when it gets no answer.
func (s *Service) Begin(t testing.TB, req *settlementv1.BeginSubmissionRequest) *settlementv1.BeginSubmissionResponse {
	t.Helper()
	return must(t)(s.Reservations.BeginSubmission(t.Context(), req)).(*settlementv1.BeginSubmissionResponse)
}

// Permitted asks for a permit, and fails the test when there is none.
func (s *Service) Permitted(t testing.TB, req *settlementv1.BeginSubmissionRequest) *settlementv1.Permit {
	t.Helper()
	resp := s.Begin(t, req)
	if resp.GetPermit() == nil {
		t.Fatalf("no permit for %s: %v", req.GetRequestKey(), resp)
	}
	return resp.GetPermit()
}

// Extend pushes a deadline out to so many seconds from now.
func (s *Service) Extend(t testing.TB, id string, ttl int64) *settlementv1.ExtendReservationResponse {
	t.Helper()
	return must(t)(s.Reservations.ExtendReservation(t.Context(), &settlementv1.ExtendReservationRequest{
		TenantId: Tenant, ReservationId: id, TtlSeconds: ttl,
	})).(*settlementv1.ExtendReservationResponse)
}
