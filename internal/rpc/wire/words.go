// Package wire turns the core's words and rows into messages, and messages into the core's words. It is the one place where both are known.
package wire

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
)

// Words translates between an enum of the API and the words of the core. They differ by the enum's prefix only, and the zero of the enum
// is the empty word.
type Words[E ~int32, W ~string] struct {
	enums map[W]E
	words map[E]W
}

func newWords[E ~int32, W ~string](values map[string]int32, prefix string) Words[E, W] {
	w := Words[E, W]{enums: map[W]E{"": 0}, words: map[E]W{0: ""}}
	for name, number := range values {
		if number != 0 {
			word := W(strings.TrimPrefix(name, prefix))
			w.enums[word], w.words[E(number)] = E(number), word
		}
	}
	return w
}

// Enum returns the enum value of a word; an unknown word is UNSPECIFIED.
func (w Words[E, W]) Enum(word W) E { return w.enums[word] }

// Word returns the word of an enum value; an unknown value has none.
func (w Words[E, W]) Word(e E) W { return w.words[e] }

// The vocabularies.
var (
	States               = newWords[settlementv1.ReservationState, ledger.State](settlementv1.ReservationState_value, "RESERVATION_STATE_")
	Outcomes             = newWords[settlementv1.OutcomeKind, ledger.OutcomeKind](settlementv1.OutcomeKind_value, "OUTCOME_KIND_")
	Outputs              = newWords[settlementv1.Output, ledger.Output](settlementv1.Output_value, "OUTPUT_")
	Stages               = newWords[settlementv1.Stage, ledger.Stage](settlementv1.Stage_value, "STAGE_")
	Kinds                = newWords[settlementv1.LineKind, ledger.LineKind](settlementv1.LineKind_value, "LINE_KIND_")
	Knowledges           = newWords[settlementv1.Knowledge, ledger.Knowledge](settlementv1.Knowledge_value, "KNOWLEDGE_")
	Units                = newWords[settlementv1.Unit, ledger.Unit](settlementv1.Unit_value, "UNIT_")
	CreditStates         = newWords[settlementv1.CreditState, ledger.HoldState](settlementv1.CreditState_value, "CREDIT_STATE_")
	SlotStates           = newWords[settlementv1.SlotState, ledger.HoldState](settlementv1.SlotState_value, "SLOT_STATE_")
	BudgetStates         = newWords[settlementv1.BudgetState, ledger.HoldState](settlementv1.BudgetState_value, "BUDGET_STATE_")
	Observers            = newWords[settlementv1.Observer, ledger.Observer](settlementv1.Observer_value, "OBSERVER_")
	Dispositions         = newWords[settlementv1.Disposition, ledger.Disposition](settlementv1.Disposition_value, "DISPOSITION_")
	HeldReasons          = newWords[settlementv1.HeldReason, ledger.HeldReason](settlementv1.HeldReason_value, "HELD_REASON_")
	RefusedReasons       = newWords[settlementv1.RefusedReason, ledger.Reason](settlementv1.RefusedReason_value, "REFUSED_REASON_")
	ExceptionReasons     = newWords[settlementv1.ExceptionReason, ledger.Reason](settlementv1.ExceptionReason_value, "EXCEPTION_REASON_")
	Resolutions          = newWords[settlementv1.ExceptionResolution, ledger.Resolution](settlementv1.ExceptionResolution_value, "EXCEPTION_RESOLUTION_")
	PermitKinds          = newWords[settlementv1.PermitKind, ledger.PermitKind](settlementv1.PermitKind_value, "PERMIT_KIND_")
	PermitRefusals       = newWords[settlementv1.PermitRefusal, ledger.PermitRefusal](settlementv1.PermitRefusal_value, "PERMIT_REFUSAL_")
	ExtendRefusals       = newWords[settlementv1.ExtendRefusal, ledger.ExtendRefusal](settlementv1.ExtendRefusal_value, "EXTEND_REFUSAL_")
	DenialReasons        = newWords[settlementv1.DenialReason, ledger.DenialReason](settlementv1.DenialReason_value, "DENIAL_REASON_")
	UncertainCauses      = newWords[settlementv1.UncertainCause, string](settlementv1.UncertainCause_value, "UNCERTAIN_CAUSE_")
	OutputChecks         = newWords[settlementv1.OutputCheck, ledger.OutputCheck](settlementv1.OutputCheck_value, "OUTPUT_CHECK_")
	ResolveRefusals      = newWords[settlementv1.ResolveRefusal, ledger.ResolveRefusal](settlementv1.ResolveRefusal_value, "RESOLVE_REFUSAL_")
	Events               = newWords[settlementv1.EventType, ledger.EventType](settlementv1.EventType_value, "EVENT_TYPE_")
	Periods              = newWords[settlementv1.BudgetPeriod, ledger.PeriodKind](settlementv1.BudgetPeriod_value, "BUDGET_PERIOD_")
	UnavailableCauses    = newWords[settlementv1.UnavailableCause, string](settlementv1.UnavailableCause_value, "UNAVAILABLE_CAUSE_")
	ClosingFacts         = newWords[settlementv1.ClosingFact, string](settlementv1.ClosingFact_value, "CLOSING_FACT_")
	Proofs               = newWords[settlementv1.EvidenceKind, string](settlementv1.EvidenceKind_value, "EVIDENCE_KIND_")
	SourceKinds          = newWords[settlementv1.SourceKind, string](settlementv1.SourceKind_value, "SOURCE_KIND_")
	JobActions           = newWords[settlementv1.JobAction, ledger.JobAction](settlementv1.JobAction_value, "JOB_ACTION_")
	JobStates            = newWords[settlementv1.JobState, string](settlementv1.JobState_value, "JOB_STATE_")
	Mismatches           = newWords[settlementv1.Mismatch, ledger.Mismatch](settlementv1.Mismatch_value, "MISMATCH_")
	EvidenceOutputChecks = newWords[settlementv1.EvidenceOutputCheck, ledger.OutputCheck](settlementv1.EvidenceOutputCheck_value, "EVIDENCE_OUTPUT_CHECK_")
	StatementFindings    = newWords[settlementv1.StatementFindingKind, string](settlementv1.StatementFindingKind_value, "STATEMENT_FINDING_KIND_")
)

// Money returns a message, or none for an unknown amount.
func Money(micros *ledger.Micros, currency string) *settlementv1.Money {
	if micros == nil {
		return nil
	}
	return &settlementv1.Money{AmountMicros: int64(*micros), Currency: currency}
}

// ToMoney returns an amount, or none for an absent message: absent is unknown, zero is known.
func ToMoney(m *settlementv1.Money) *ledger.Money {
	if m == nil {
		return nil
	}
	return &ledger.Money{Micros: ledger.Micros(m.GetAmountMicros()), Currency: m.GetCurrency()}
}

// Time returns a timestamp, or none for the zero time.
func Time(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
