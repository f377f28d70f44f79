package wire

import (
	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
)

// Reservation shows a reservation with its lines.
func Reservation(v *ledger.View) *settlementv1.Reservation {
	r := &v.Reservation
	m := &settlementv1.Reservation{
		ReservationId: string(r.ID), AccountId: string(r.Asked.Account), ProviderId: string(r.Asked.Provider),
		State: States.Enum(r.State), Revision: r.Revision,
		Outcome: outcome(r.Outcome), Output: Outputs.Enum(v.Output),
		Credit: &settlementv1.CreditHold{
			Asked: funding(r.Asked.Funding), TakenUnit: Units.Enum(r.Taken.Unit), Taken: int64(r.Taken.Amount),
			State: CreditStates.Enum(r.Credit), Captured: int64(r.Captured), Returned: int64(r.Returned()),
		},
		Slot: SlotStates.Enum(r.Slot),
		Budget: &settlementv1.BudgetHold{
			PeriodStart: Time(r.PeriodStart), Held: Money(&r.Asked.Budget, r.Asked.Currency), State: BudgetStates.Enum(r.Budget),
			KnownCostMicros: int64(v.KnownCost), Unresolved: v.CostUnresolved,
		},
		Deadline: Time(r.Deadline), DeadlineMax: Time(r.DeadlineMax), OverdueSince: Time(r.OverdueSince),
		CancelRequestedAt: Time(r.CancelRequestedAt), CancelReason: r.CancelReason,
		Policy: policy(r), Labels: r.Asked.Labels, CreatedAt: Time(r.CreatedAt), UpdatedAt: Time(r.UpdatedAt),
	}
	for i := range v.Lines {
		m.Lines = append(m.Lines, Line(&v.Lines[i], r.Asked.Currency))
	}
	return m
}

func policy(r *ledger.Reservation) *settlementv1.Policy {
	return &settlementv1.Policy{
		PermitSeconds: r.Policy.PermitSeconds, NotReceivedAfterSeconds: r.Policy.NotReceivedAfterSeconds,
		IdempotencyKeySeconds: r.Policy.IdempotencyKeySeconds, OutputCheckRequired: r.Policy.OutputCheckRequired,
		OutputRejectionCaptures: r.Policy.OutputRejectionCaptures,
		AuthoritativeObserver:   Observers.Enum(r.Policy.AuthoritativeObserver), MaxAgeSeconds: r.MaxAgeSeconds,
	}
}

func funding(f ledger.Funding) *settlementv1.Funding {
	switch f.Kind {
	case ledger.FundFreeAttempt:
		return &settlementv1.Funding{Source: &settlementv1.Funding_FreeAttempt{FreeAttempt: &settlementv1.FreeAttempt{}}}
	case ledger.FundFreeAttemptOrCredits:
		return &settlementv1.Funding{Source: &settlementv1.Funding_FreeAttemptOrCredits{FreeAttemptOrCredits: int64(f.Credits)}}
	default:
		return &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: int64(f.Credits)}}
	}
}

func outcome(o *ledger.Outcome) *settlementv1.Outcome {
	if o == nil {
		return nil
	}
	m := &settlementv1.Outcome{
		Kind: Outcomes.Enum(o.Kind), Stage: Stages.Enum(o.Stage), Code: o.Code, Categories: o.Categories,
		Charge: (*int64)(o.Charge), Observer: Observers.Enum(o.Observer), ClosedBy: ClosingFacts.Enum(o.ClosedBy),
		SettledAt: Time(o.SettledAt),
	}
	if o.Kind == ledger.OutcomeModerationUnavailable {
		m.UnavailableCause = UnavailableCauses.Enum(o.Cause)
	} else {
		m.Reason = o.Cause
	}
	return m
}

// Line shows a line of the journal. Its permit token stays a secret.
func Line(l *ledger.Line, currency string) *settlementv1.Line {
	m := &settlementv1.Line{
		RequestKey: string(l.Key), Kind: Kinds.Enum(l.Kind), Stage: Stages.Enum(l.Stage), Knowledge: Knowledges.Enum(l.Knowledge),
		ProviderTaskId: string(l.Task), Cost: Money(l.Cost, currency), CostAdjustmentMicros: int64(l.Adjustment),
		PermittedAt: Time(l.PermittedAt), PermitExpiresAt: Time(l.PermitExpiresAt), ResendUntil: Time(l.ResendUntil),
		ResentAt: Time(l.ResentAt), UncertainCause: UncertainCauses.Enum(l.UncertainCause), UpdatedAt: Time(l.UpdatedAt),
	}
	if l.Kind == ledger.Moderation {
		m.CheckTimeoutAt = Time(l.CheckTimeoutAt())
	}
	if e := l.Evidence; e != nil {
		m.LastEvidence = &settlementv1.LineEvidence{
			Kind: Proofs.Enum(e.Kind), RecordedAt: Time(e.RecordedAt), Source: &settlementv1.EvidenceSource{
				Kind: SourceKinds.Enum(e.Source.Kind), Reference: e.Source.Reference, ObservedAt: Time(e.Source.ObservedAt),
			},
		}
		if e.Kind == string(ledger.ProofStillUnknown) {
			m.LastEvidence.Cause = UncertainCauses.Enum(e.Cause)
		} else {
			m.LastEvidence.Reason = e.Cause
		}
	}
	return m
}

// Permit shows a permit, or none.
func Permit(p *ledger.Permit) *settlementv1.Permit {
	if p == nil {
		return nil
	}
	return &settlementv1.Permit{Kind: PermitKinds.Enum(p.Kind), ExpiresInMs: p.ExpiresIn.Milliseconds()}
}

// Exceptions names the exceptions of an answer.
func Exceptions(refs []ledger.ExceptionRef) []*settlementv1.ExceptionRef {
	var ms []*settlementv1.ExceptionRef
	for _, r := range refs {
		ms = append(ms, &settlementv1.ExceptionRef{Reason: ExceptionReasons.Enum(r.Reason), ExceptionId: string(r.ID)})
	}
	return ms
}
