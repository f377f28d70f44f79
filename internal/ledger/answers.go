package ledger

// Disposition tells what became of a fact.
type Disposition string

// The dispositions.
const (
	Applied    Disposition = "APPLIED"    // this call changed something
	Replayed   Disposition = "REPLAYED"   // the same stood already
	Superseded Disposition = "SUPERSEDED" // another end stood first
	Holding    Disposition = "HELD"       // nothing ends while a generation is unsettled
	Refused    Disposition = "REFUSED"    // the reservation cannot take the fact
)

// HeldReason tells why a call answered HELD.
type HeldReason string

// The reasons to hold.
const (
	GenerationUnsettled HeldReason = "GENERATION_UNSETTLED"
	AwaitingPoll        HeldReason = "AWAITING_POLL"
)

// Reason tells why a fact was refused, or what an exception keeps.
type Reason string

// The reasons, in the order of their precedence where a call could meet several.
const (
	UnknownAttempt      Reason = "UNKNOWN_ATTEMPT"
	TaskMismatch        Reason = "TASK_MISMATCH"
	NotThePermitHolder  Reason = "NOT_THE_PERMIT_HOLDER"
	NotAGeneration      Reason = "NOT_A_GENERATION"
	TooEarly            Reason = "TOO_EARLY"
	SupersededOutcome   Reason = "SUPERSEDED"
	StaleAttempt        Reason = "STALE_ATTEMPT"
	ConflictingFact     Reason = "CONFLICTING_FACT"
	OutputCheckRequired Reason = "OUTPUT_CHECK_REQUIRED"
	ChargeExceedsHold   Reason = "CHARGE_EXCEEDS_HOLD"
	ChargeNotApplicable Reason = "CHARGE_NOT_APPLICABLE"
	CostConflict        Reason = "COST_CONFLICT"
	CurrencyMismatch    Reason = "CURRENCY_MISMATCH"
)

// DenialReason tells which resource a reservation lacked.
type DenialReason string

// The reasons to deny, in the order in which an answer lists them.
const (
	AccountSuspended              DenialReason = "ACCOUNT_SUSPENDED"
	ProviderDisabled              DenialReason = "PROVIDER_DISABLED"
	NoFreeAttempt                 DenialReason = "NO_FREE_ATTEMPT"
	InsufficientCredits           DenialReason = "INSUFFICIENT_CREDITS"
	SlotsExhausted                DenialReason = "SLOTS_EXHAUSTED"
	ProviderBusy                  DenialReason = "PROVIDER_BUSY"
	BudgetExhausted               DenialReason = "BUDGET_EXHAUSTED"
	DeniedKeyOfAnotherReservation DenialReason = "KEY_OF_ANOTHER_RESERVATION"
)

// PermitRefusal tells why no permit was given.
type PermitRefusal string

// The refusals of a permit, in the order of their precedence.
const (
	KeyOfAnotherReservation PermitRefusal = "KEY_OF_ANOTHER_RESERVATION"
	KeyOfAnotherKind        PermitRefusal = "KEY_OF_ANOTHER_KIND"
	UnknownKey              PermitRefusal = "UNKNOWN_ATTEMPT"
	NotOpen                 PermitRefusal = "NOT_OPEN"
	AlreadySucceeded        PermitRefusal = "ALREADY_SUCCEEDED"
	NoSucceededGeneration   PermitRefusal = "NO_SUCCEEDED_GENERATION"
	Unresolved              PermitRefusal = "UNRESOLVED"
	CancelRequested         PermitRefusal = "CANCEL_REQUESTED"
	DeadlinePassed          PermitRefusal = "DEADLINE_PASSED"
)

// ExtendRefusal tells why a deadline was not pushed out.
type ExtendRefusal string

// The refusals of an extension.
const (
	ExtendNotOpen    ExtendRefusal = "NOT_OPEN"
	BeyondMaximumAge ExtendRefusal = "BEYOND_MAXIMUM_AGE"
)

// ResolveRefusal tells why an exception was not resolved as asked.
type ResolveRefusal string

// The refusals of a resolution.
const (
	AlreadyResolved ResolveRefusal = "ALREADY_RESOLVED"
	NothingToApply  ResolveRefusal = "NOTHING_TO_APPLY"
)
