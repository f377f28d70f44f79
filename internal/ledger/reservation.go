package ledger

import (
	"maps"
	"time"
)

// Funding is what a reservation is paid from. Credits are the amount asked; a free attempt needs none.
type Funding struct {
	Kind    FundingKind
	Credits Amount
}

// Asked is what the caller of Reserve asked for. The same id with the same content is a replay.
type Asked struct {
	Account       AccountID
	Provider      ProviderID
	Funding       Funding
	Budget        Micros
	Currency      string
	TTLSeconds    *int64
	SubmissionKey RequestKey
	Labels        map[string]string
}

// difference names the first field in which two requests differ, or none.
func (a *Asked) difference(b *Asked) string {
	switch {
	case a.Account != b.Account:
		return "account_id"
	case a.Provider != b.Provider:
		return "provider_id"
	case a.Funding != b.Funding:
		return "funding"
	case a.Budget != b.Budget:
		return "budget_micros"
	case a.Currency != b.Currency:
		return "currency"
	case !equal(a.TTLSeconds, b.TTLSeconds):
		return "ttl_seconds"
	case (a.SubmissionKey == "") != (b.SubmissionKey == ""):
		return "submission"
	case a.SubmissionKey != b.SubmissionKey:
		return "submission.request_key"
	case !maps.Equal(a.Labels, b.Labels):
		return "labels"
	}
	return ""
}

// Taken is the customer's side of a reservation: credits, or one free attempt.
type Taken struct {
	Unit   Unit
	Amount Amount
}

// Reservation is one generation job with its three holds. Its lines stand beside it, in the order of Keys.
type Reservation struct {
	ID            ReservationID
	Asked         Asked
	Taken         Taken
	Policy        Policy
	PeriodStart   time.Time // of the budget that the hold was taken from and returns to
	MaxAgeSeconds int64
	CreatedAt     time.Time

	State       State
	Revision    int32
	Deadline    time.Time
	DeadlineMax time.Time

	OverdueSince      time.Time // zero: not marked
	CancelRequestedAt time.Time // zero: no intent
	CancelReason      string

	Credit   HoldState
	Captured Amount // of what was taken
	Slot     HoldState
	Budget   HoldState

	Outcome   *Outcome // nil while open
	UpdatedAt time.Time

	Keys []RequestKey // of the lines, in the order of their permits
}

// Outcome is how a reservation ended.
type Outcome struct {
	Kind       OutcomeKind
	Stage      Stage
	Cause      string
	Code       string
	Categories []string
	Charge     *Amount
	Observer   Observer
	ClosedBy   string // the kind of the fact that let a requested cancel go through
	SettledAt  time.Time
}

// same tells whether an end that is asked for is the one that stands: its kind, stage and charge. A fact that let a requested cancel go
// through stands as well.
func (o *Outcome) same(asked *Outcome) bool {
	if asked.Kind == OutcomeCancelled && o.Kind == OutcomeCancelled {
		return true
	}
	stands := o.Kind == asked.Kind || o.Kind == OutcomeCancelled && o.ClosedBy == string(asked.Kind)
	return stands && o.Stage == asked.Stage && equal(o.Charge, asked.Charge)
}

// Returned is what went back to the account from what was taken.
func (r *Reservation) Returned() Amount {
	if r.Credit == Held {
		return 0
	}
	return r.Taken.Amount - r.Captured
}

// BudgetKey names the budget that the reservation's hold was taken from.
func (r *Reservation) BudgetKey() BudgetKey { return BudgetKey{r.Asked.Provider, r.PeriodStart} }

// overdue tells whether the reservation is open past its deadline.
func (r *Reservation) overdue(now time.Time) bool { return r.State.Open() && !now.Before(r.Deadline) }

// View is a reservation with its lines, as an answer shows it.
type View struct {
	Reservation
	Lines  []Line
	Output Output
	// KnownCost adds up the known costs of the lines, adjustments included.
	KnownCost Micros
	// CostUnresolved tells that a reservation has ended and a line's cost is still unknown.
	CostUnresolved bool
}

// NewView shows a reservation with its lines.
func NewView(r Reservation, lines []Line) View {
	v := View{Reservation: r, Lines: lines, Output: output(r.State, alive(lines))}
	for i := range lines {
		l := &lines[i]
		v.KnownCost += l.Adjustment
		if l.Cost != nil {
			v.KnownCost += *l.Cost
		}
	}
	v.CostUnresolved = !r.State.Open() && r.Budget == Held
	return v
}

// alive returns the generation that is unresolved or succeeded, or nil. There is at most one.
func alive(lines []Line) *Line {
	for i := range lines {
		if lines[i].alive() {
			return &lines[i]
		}
	}
	return nil
}

// openState is the state of an open reservation with such a generation, or with none: a function of its journal.
func openState(alive *Line) State {
	switch {
	case alive == nil:
		return Pending
	case alive.Knowledge == LineUncertain:
		return Uncertain
	default:
		return Processing
	}
}

// output tells what may become of the output. Unchecked output never opens: only a completed reservation releases it.
func output(s State, alive *Line) Output {
	switch {
	case s == Completed:
		return OutputReleasable
	case alive != nil:
		return OutputWithheld
	default:
		return OutputNone
	}
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
