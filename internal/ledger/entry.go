package ledger

import (
	"strconv"
	"strings"
	"time"
)

// Entry is one accepted change: the movement of an account's balance and of a budget, and the event that tells others of it.
type Entry struct {
	ID               int64 // given by the database, in order of appearance within an account
	EventKey         string
	Type             EventType
	Account          AccountID
	Reservation      ReservationID // empty for grants
	Revision         int32
	Movement         *Movement // nil where no balance moved
	BudgetHeldChange Micros
	SpentChange      Micros
	Detail           Detail
	CreatedAt        time.Time
}

// Movement is a balance of one unit before and after a change.
type Movement struct {
	Unit   Unit
	Before Balance
	After  Balance
}

// Detail is what a reader of events wants to know beyond the movement. Absent parts are left out.
type Detail struct {
	RequestKey RequestKey  `json:"request_key,omitempty"`
	Knowledge  Knowledge   `json:"knowledge,omitempty"`
	Task       TaskID      `json:"provider_task_id,omitempty"`
	CostMicros *Micros     `json:"cost_micros,omitempty"`
	Stage      Stage       `json:"stage,omitempty"`
	Cause      string      `json:"cause,omitempty"`
	Code       string      `json:"code,omitempty"`
	Categories []string    `json:"categories,omitempty"`
	Charge     *Amount     `json:"charge,omitempty"`
	Observer   Observer    `json:"observer,omitempty"`
	ClosedBy   string      `json:"closed_by,omitempty"`
	Source     *Source     `json:"source,omitempty"`
	Exception  ExceptionID `json:"exception_id,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	Job        JobID       `json:"job_id,omitempty"`
}

// weight orders the events that one change could have: a cost or a deadline alone says less than what was learnt of a line, and that less
// than what was done.
func (e EventType) weight() int {
	switch e {
	case "":
		return 0
	case EventCostRecorded, EventExtended:
		return 1
	case EventReported:
		return 2
	default:
		return 3
	}
}

// granted returns what the entry added to its account.
func (e *Entry) granted() Amount {
	if e.Movement == nil {
		return 0
	}
	return e.Movement.After.Available - e.Movement.Before.Available
}

// eventKey joins the parts of a unique key by a space, which no id contains.
func eventKey(parts ...string) string { return strings.Join(parts, " ") }

// ReserveKey is the event key of the change that made a reservation.
func ReserveKey(id ReservationID) string { return eventKey("reserve", string(id)) }

// reservationKey is the event key of a reservation's change: one for its beginning, one for its end, one for each revision between.
func reservationKey(r *Reservation, created, ended bool) string {
	switch {
	case created:
		return ReserveKey(r.ID)
	case ended:
		return eventKey("end", string(r.ID))
	default:
		return eventKey("change", string(r.ID), strconv.Itoa(int(r.Revision)))
	}
}
