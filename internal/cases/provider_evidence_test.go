package cases_test

import (
	"slices"
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// investigate asks the provider about the unresolved generation of a reservation, and brings what it says as evidence. It returns what
// became of it; nil where nothing is open.
func (s *studio) investigate(t *testing.T, r *settlementv1.Reservation) *settlementv1.ReconcileResponse {
	t.Helper()
	id, g := r.GetReservationId(), liveGeneration(r)
	if !isOpen(r) || g == nil || g.GetKnowledge() == lineSucceeded {
		return nil
	}
	a := s.Reconcile(t, id, g.GetRequestKey(), evidenceOf(r, s.client.Lookup(t.Context(), g.GetRequestKey())))
	if a.GetRefusedReason() == tooEarly {
		noted := s.Reconcile(t, id, g.GetRequestKey(), apptest.StillUnknown(settlementv1.UncertainCause_UNCERTAIN_CAUSE_NOT_FOUND_YET))
		is(t, "still unknown "+id, noted.GetDisposition(), applied)
	}
	return a
}

// evidenceOf is what a look-up proves.
func evidenceOf(r *settlementv1.Reservation, o fakeprovider.Observation) any {
	cost, check := costOf(o.Cost), settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_NOT_REQUIRED
	if r.GetPolicy().GetOutputCheckRequired() {
		check = settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_NOT_DONE
	}
	switch o.Fact {
	case fakeprovider.Pending:
		return &settlementv1.AcceptedEvidence{ProviderTaskId: o.TaskID, TtlSeconds: new(seconds(lifeTime))}
	case fakeprovider.Succeeded:
		return &settlementv1.SucceededEvidence{OutputCheck: &check, Cost: cost, ProviderTaskId: &o.TaskID}
	case fakeprovider.Failed:
		return &settlementv1.FailedEvidence{Cost: cost, ProviderTaskId: &o.TaskID}
	case fakeprovider.NotFound:
		if liveGeneration(r).GetCost().GetAmountMicros() > 0 { // who has charged for it has received it, and nobody finds it
			return apptest.GivenUp()
		}
		return apptest.Resumed(seconds(lifeTime))
	default:
		return apptest.StillUnknown(uncertainty(o.Cause))
	}
}

// bill brings the provider's statement for every line of a reservation whose cost is unknown. Where the ledger has another cost than the
// statement, an operator puts it right.
func (s *studio) bill(t *testing.T, r *settlementv1.Reservation) {
	t.Helper()
	for _, l := range r.GetLines() {
		key, micros := l.GetRequestKey(), s.statement[l.GetRequestKey()]
		if l.GetCost() != nil && l.GetCost().GetAmountMicros()+l.GetCostAdjustmentMicros() == micros {
			continue
		}
		var statement any = apptest.Free()
		if micros > 0 {
			statement = apptest.Costs(micros)
		}
		a := s.Reconcile(t, r.GetReservationId(), key, statement)
		if l.GetCost() == nil {
			is(t, "the statement's cost of "+key, a.GetDisposition(), applied)
			continue
		}
		wantRefused(t, a, settlementv1.RefusedReason_REFUSED_REASON_COST_CONFLICT)
		s.apply(t, a.GetExceptions()[0].GetExceptionId())
	}
}

// apply is an operator's decision that an exception's cost is the true one.
func (s *studio) apply(t *testing.T, exception string) {
	t.Helper()
	resp, err := s.Reconciliation.ResolveException(t.Context(), &settlementv1.ResolveExceptionRequest{
		TenantId: apptest.Tenant, ExceptionId: exception,
		Resolution: &settlementv1.ResolveExceptionRequest_Apply{Apply: &settlementv1.ApplyResolution{Reason: "as the statement says"}},
	})
	if err != nil || resp.GetRefused() != settlementv1.ResolveRefusal_RESOLVE_REFUSAL_UNSPECIFIED {
		t.Errorf("apply %s: %v %v", exception, resp, err)
	}
}

func isOpen(r *settlementv1.Reservation) bool {
	return r.GetState() == pending || r.GetState() == processing || r.GetState() == uncertain
}

// generations are the lines of a reservation that asked for the paid work.
func generations(r *settlementv1.Reservation) []*settlementv1.Line {
	return slices.DeleteFunc(slices.Clone(r.GetLines()), func(l *settlementv1.Line) bool {
		return l.GetKind() != settlementv1.LineKind_LINE_KIND_GENERATION
	})
}

// liveGeneration is the one that may be alive or has succeeded, or nil.
func liveGeneration(r *settlementv1.Reservation) *settlementv1.Line {
	for _, l := range generations(r) {
		if k := l.GetKnowledge(); k <= lineAccepted || k == lineSucceeded {
			return l
		}
	}
	return nil
}

// findLine is the line under a key, or nil.
func findLine(r *settlementv1.Reservation, key string) *settlementv1.Line {
	for _, l := range r.GetLines() {
		if l.GetRequestKey() == key {
			return l
		}
	}
	return nil
}

// unchecked is an output that needs no check.
func unchecked(cost *settlementv1.Money) *settlementv1.CompletedOutcome {
	return &settlementv1.CompletedOutcome{OutputCheck: settlementv1.OutputCheck_OUTPUT_CHECK_NOT_REQUIRED, Cost: cost}
}

// costOf is a cost as the API takes it: none is unknown, zero is known.
func costOf(c *fakeprovider.Cost) *settlementv1.Money {
	if c == nil {
		return nil
	}
	return &settlementv1.Money{AmountMicros: c.AmountMicros, Currency: c.Currency}
}

// uncertainty is a cause of the provider's client in the words of the API.
func uncertainty(c fakeprovider.Cause) settlementv1.UncertainCause {
	switch c {
	case fakeprovider.Timeout:
		return settlementv1.UncertainCause_UNCERTAIN_CAUSE_TIMEOUT
	case fakeprovider.Transport:
		return settlementv1.UncertainCause_UNCERTAIN_CAUSE_CONNECTION_LOST
	case fakeprovider.ServerError:
		return settlementv1.UncertainCause_UNCERTAIN_CAUSE_SERVER_ERROR
	default:
		return settlementv1.UncertainCause_UNCERTAIN_CAUSE_UNREADABLE_ANSWER
	}
}
