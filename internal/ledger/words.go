package ledger

// TenantID names an isolation boundary; every other identifier belongs to one.
type TenantID string

// AccountID names a customer of a tenant.
type AccountID string

// ProviderID names an external generation service of a tenant.
type ProviderID string

// ReservationID names one generation job of a tenant.
type ReservationID string

// RequestKey is the key under which one external request was, or will be, sent. It is unique within its tenant and never reused.
type RequestKey string

// TaskID is the provider's own name for a request that it accepted. One belongs to one line of a provider.
type TaskID string

// Token is the secret of one logical BeginSubmission call. Who holds it may say that nothing was sent.
type Token string

// AmountMax is the largest quantity of credits, attempts or micros that one call or setting may carry.
const AmountMax = 1_000_000_000_000_000

// RevisionMax is the last revision that a reservation can reach.
const RevisionMax = 1<<31 - 1

// State of a reservation. The open states are a function of its journal, the others are terminal, for ever.
type State string

// The states of a reservation.
const (
	Pending    State = "PENDING"    // no generation line, or all ended without a generation
	Processing State = "PROCESSING" // a generation is permitted, accepted or succeeded
	Uncertain  State = "UNCERTAIN"  // a generation may have been submitted
	Completed  State = "COMPLETED"
	Failed     State = "FAILED"
	Rejected   State = "REJECTED"
	Cancelled  State = "CANCELLED"
	Expired    State = "EXPIRED"
)

// Open tells whether the reservation can still reach an outcome.
func (s State) Open() bool { return s == Pending || s == Processing || s == Uncertain }

// Knowledge is what is known of a line. It only grows: PERMITTED, UNCERTAIN, ACCEPTED, then one of the final ones.
type Knowledge string

// What can be known of a line.
const (
	LinePermitted   Knowledge = "PERMITTED"
	LineUncertain   Knowledge = "UNCERTAIN"
	LineAccepted    Knowledge = "ACCEPTED"
	LineNotSent     Knowledge = "NOT_SENT"
	LineNotAccepted Knowledge = "NOT_ACCEPTED"
	LineNotReceived Knowledge = "NOT_RECEIVED"
	LineSucceeded   Knowledge = "SUCCEEDED"
	LineFailed      Knowledge = "FAILED"
)

// Final tells whether nothing more can be learnt of the line but its cost.
func (k Knowledge) Final() bool { return k.rank() == rankFinal }

const rankFinal = 3

func (k Knowledge) rank() int {
	switch k {
	case LinePermitted:
		return 0
	case LineUncertain:
		return 1
	case LineAccepted:
		return 2
	default:
		return rankFinal
	}
}

// neverRan tells whether the knowledge proves that the provider did no work, so that a retry cannot pay twice.
func (k Knowledge) neverRan() bool {
	return k == LineNotSent || k == LineNotAccepted || k == LineNotReceived
}

// LineKind tells what a line asked the provider for.
type LineKind string

// The kinds of lines.
const (
	Generation LineKind = "GENERATION"
	Moderation LineKind = "MODERATION"
)

// Stage tells what a moderation looks at. Generations have none.
type Stage string

// The stages of a moderation.
const (
	NoStage     Stage = ""
	InputStage  Stage = "INPUT"
	OutputStage Stage = "OUTPUT"
)

// OutcomeKind tells how a reservation ended.
type OutcomeKind string

// The ends of a reservation.
const (
	OutcomeCompleted             OutcomeKind = "COMPLETED"
	OutcomeProviderFailed        OutcomeKind = "PROVIDER_FAILED"
	OutcomePolicyRejected        OutcomeKind = "POLICY_REJECTED"
	OutcomeModerationUnavailable OutcomeKind = "MODERATION_UNAVAILABLE"
	OutcomeCancelled             OutcomeKind = "CANCELLED"
	OutcomeExpired               OutcomeKind = "EXPIRED"
	OutcomeNotReceived           OutcomeKind = "NOT_RECEIVED"
	OutcomeGivenUp               OutcomeKind = "GIVEN_UP"
)

// state returns the terminal state that the outcome leads to.
func (k OutcomeKind) state() State {
	switch k {
	case OutcomeCompleted:
		return Completed
	case OutcomePolicyRejected:
		return Rejected
	case OutcomeCancelled:
		return Cancelled
	case OutcomeExpired:
		return Expired
	default:
		return Failed
	}
}

// Output tells whether the customer may have what was generated.
type Output string

// What may become of the output.
const (
	OutputNone       Output = "NONE"
	OutputWithheld   Output = "WITHHELD"
	OutputReleasable Output = "RELEASABLE"
)

// OutputCheck is the verdict that comes with a success.
type OutputCheck string

// The verdicts on an output. Settle takes the first two, evidence takes all.
const (
	CheckPassed      OutputCheck = "PASSED"
	CheckNotRequired OutputCheck = "NOT_REQUIRED"
	CheckRejected    OutputCheck = "REJECTED"
	CheckUnavailable OutputCheck = "UNAVAILABLE"
	CheckNotDone     OutputCheck = "NOT_DONE"
)

// HoldState is where one of a reservation's three holds stands. Each hold uses a part of the words.
type HoldState string

// The states of holds: a credit hold is held, then captured or returned; a slot is held, then released; a budget hold is held, then ended.
const (
	Held     HoldState = "HELD"
	Captured HoldState = "CAPTURED"
	Returned HoldState = "RETURNED"
	Released HoldState = "RELEASED"
	Ended    HoldState = "ENDED"
)

// FundingKind tells what a reservation asked to be paid from.
type FundingKind string

// The kinds of funding.
const (
	FundCredits              FundingKind = "CREDITS"
	FundFreeAttempt          FundingKind = "FREE_ATTEMPT"
	FundFreeAttemptOrCredits FundingKind = "FREE_ATTEMPT_OR_CREDITS"
)

// Unit tells which of an account's two balances moved.
type Unit string

// The units of an account.
const (
	Credits      Unit = "CREDITS"
	FreeAttempts Unit = "FREE_ATTEMPTS"
)

// Observer tells who saw an outcome.
type Observer string

// The observers. Callers can be the first four; the last two are the ledger's own.
const (
	ByCallback       Observer = "CALLBACK"
	ByPoll           Observer = "POLL"
	ByWorker         Observer = "WORKER"
	ByFrontend       Observer = "FRONTEND"
	ByReconciliation Observer = "RECONCILIATION"
	ByExpiry         Observer = "EXPIRY"
)

// PeriodKind is the length of a budget's period.
type PeriodKind string

// The kinds of periods.
const (
	NoPeriod PeriodKind = "NONE"
	Day      PeriodKind = "DAY"
	Month    PeriodKind = "MONTH"
)

// EventType names a change in the ledger.
type EventType string

// The changes. A change that ends a reservation has the name of its outcome.
const (
	EventReserved            EventType = "RESERVED"
	EventPermitted           EventType = "PERMITTED"
	EventResent              EventType = "RESENT"
	EventReported            EventType = "REPORTED"
	EventCostRecorded        EventType = "COST_RECORDED"
	EventCancelRequested     EventType = "CANCEL_REQUESTED"
	EventExtended            EventType = "EXTENDED"
	EventResumed             EventType = "RESUMED"
	EventOverdue             EventType = "OVERDUE"
	EventAdjusted            EventType = "ADJUSTED"
	EventCreditsGranted      EventType = "CREDITS_GRANTED"
	EventFreeAttemptsGranted EventType = "FREE_ATTEMPTS_GRANTED"
)

// Resolution is what an operator made of an exception.
type Resolution string

// The resolutions.
const (
	ExceptionOpen    Resolution = ""
	Dismissed        Resolution = "DISMISSED"
	ExceptionApplied Resolution = "APPLIED"
)
