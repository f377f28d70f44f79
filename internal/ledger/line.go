package ledger

import (
	"cmp"
	"time"
)

// Line of the journal: one external request under its original key. It is never deleted and never re-keyed.
type Line struct {
	Key                 RequestKey
	Reservation         ReservationID
	Provider            ProviderID
	Kind                LineKind
	Stage               Stage
	Attempt             int32 // of its reservation, kind and stage; from 1
	Token               Token // empty on a line that a report brought back
	PermittedAt         time.Time
	ResendUntil         time.Time // zero: the provider takes no idempotency keys
	CheckTimeoutSeconds int64     // of a moderation

	Knowledge       Knowledge
	PermitExpiresAt time.Time
	ResentAt        time.Time // zero: never
	Task            TaskID
	Cost            *Micros // nil: unknown, which is not zero
	Adjustment      Micros  // what operators added to the cost on record
	UncertainCause  string
	Evidence        *Evidence // the last that came
	UpdatedAt       time.Time
}

// Source tells where evidence came from.
type Source struct {
	Kind       string    `json:"kind"`
	Reference  string    `json:"reference"`
	ObservedAt time.Time `json:"observed_at,omitzero"`
}

// Evidence is what reconciliation was last told of a line.
type Evidence struct {
	Kind       string    `json:"kind"`
	Cause      string    `json:"cause,omitempty"`
	Source     Source    `json:"source"`
	RecordedAt time.Time `json:"recorded_at"`
}

// ByPermit orders lines by their first permits, and by their keys where those share a batch and so a time.
func ByPermit(a, b Line) int {
	return cmp.Or(a.PermittedAt.Compare(b.PermittedAt), compare(a.Key, b.Key))
}

// CheckTimeoutAt is when a moderation's answer is no longer waited for.
func (l *Line) CheckTimeoutAt() time.Time {
	return l.PermittedAt.Add(seconds(l.CheckTimeoutSeconds))
}

// alive tells whether the line is a generation that is unresolved or has succeeded: one that something may still come of.
func (l *Line) alive() bool {
	return l.Kind == Generation && (!l.Knowledge.Final() || l.Knowledge == LineSucceeded)
}

// effect is what a fact would make of a line.
type effect int

const (
	nothing   effect = iota // no stronger than what is known
	grows                   // the line learns it
	conflicts               // both cannot be true
)

// judge tells what a fact would make of the line. It is the one place where knowledge is weighed, whoever brings it.
func (l *Line) judge(k Knowledge) effect {
	switch {
	case k == "" || k == l.Knowledge:
		return nothing
	case k.rank() <= l.Knowledge.rank() && !k.Final():
		return nothing
	case l.Knowledge.Final():
		return conflicts
	case k.neverRan() && (l.Knowledge == LineAccepted || l.Cost != nil && *l.Cost > 0):
		return conflicts
	case l.resent() && (k == LineNotSent || k == LineNotAccepted):
		return conflicts // whoever says so speaks of one POST, and there may have been another
	default:
		return grows
	}
}

// resent tells whether the request may have been sent more than once, under its one key. Of a line that a report brought back nobody knows.
func (l *Line) resent() bool { return !l.ResentAt.IsZero() || l.broughtBack() }

// broughtBack tells whether the ledger had forgotten the line: nobody was given a permit for it that is still on record.
func (l *Line) broughtBack() bool { return l.Token == "" }

// impliedCost is the cost that knowledge brings with it: what the provider never saw, it cannot charge.
func impliedCost(k Knowledge) *Micros {
	if k == LineNotSent || k == LineNotReceived {
		return new(Micros)
	}
	return nil
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
