package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Mismatch names what of a reservation is not as a manifest expects.
type Mismatch string

// What can differ, in the order in which it is told.
const (
	MismatchMissing       Mismatch = "MISSING"
	MismatchRevision      Mismatch = "REVISION"
	MismatchTaken         Mismatch = "TAKEN"
	MismatchState         Mismatch = "STATE"
	MismatchOutcome       Mismatch = "OUTCOME"  // of what a job has done
	MismatchOverdue       Mismatch = "OVERDUE"  // expiry decides
	MismatchDueSoon       Mismatch = "DUE_SOON" // for a plan
	MismatchGeneration    Mismatch = "GENERATION"
	MismatchNoCheck       Mismatch = "NO_UNANSWERED_CHECK"
	MismatchCheckAccepted Mismatch = "CHECK_ACCEPTED"
)

// Difference is one thing about a reservation that a manifest expects otherwise. Expected and Found are words for people.
type Difference struct {
	What     Mismatch
	Expected string
	Found    string
}

// differences collects what differs.
type differences []Difference

func (d *differences) add(what Mismatch, expected, found any) {
	*d = append(*d, Difference{what, fmt.Sprint(expected), fmt.Sprint(found)})
}

// Conflict is the error of a target that cannot be changed. It is nobody's mistake: something happened since the manifest was made.
type Conflict struct {
	Reservation ReservationID
	Differences []Difference
}

// What names everything that differs.
func (c *Conflict) What() string {
	words := make([]string, len(c.Differences))
	for i, d := range c.Differences {
		words[i] = string(d.What)
	}
	return strings.Join(words, ",")
}

// Error tells what differs.
func (c *Conflict) Error() string {
	parts := make([]string, len(c.Differences))
	for i, d := range c.Differences {
		parts[i] = fmt.Sprintf("%s is %s instead of %s", d.What, d.Found, d.Expected)
	}
	return fmt.Sprintf("reservation %s is not as the manifest expects: %s", c.Reservation, strings.Join(parts, "; "))
}

// Errand is what a job does, for the book that does it.
type Errand struct {
	Job    JobID
	Action JobAction
}

// outcome is the end that the errand gives a reservation.
func (e Errand) outcome() Outcome {
	if e.Action == ReleaseCustomer {
		return Outcome{Kind: OutcomeModerationUnavailable, Stage: InputStage, Cause: "TIMEOUT", Observer: ByReconciliation}
	}
	return Outcome{Kind: OutcomeCancelled, Cause: "reconciliation job " + string(e.Job), Observer: ByReconciliation}
}

// Processed is a target as it was changed.
type Processed struct {
	Target
	NewRevision int32
}

// ApplyTarget carries out an errand on one reservation, if it is as the manifest expects and the action fits, asked under its lock. An
// overdue reservation fits nothing: expiry decides. Anything else than a change is an error, a *Conflict where rows differ.
func (b *Book) ApplyTarget(e Errand, t Target) (Processed, error) {
	r := b.reservations.get(t.Reservation)
	if r == nil {
		return Processed{}, &Conflict{t.Reservation, t.Missing()}
	}
	c, err := b.draftChange(t.Reservation)
	if err != nil {
		return Processed{}, err
	}
	view := c.view()
	if d := slices.Concat(t.Differences(&view), e.Action.Misfit(&view, b.Now)); len(d) > 0 {
		return Processed{}, &Conflict{t.Reservation, d}
	}
	c.detail.Observer, c.detail.Job = ByReconciliation, e.Job
	c.end(e.outcome())
	if err := c.commit(); err != nil {
		return Processed{}, err
	}
	return Processed{Target: t, NewRevision: c.r.Revision}, nil
}

// Missing is the difference of a target whose reservation does not exist.
func (t *Target) Missing() []Difference {
	return []Difference{{MismatchMissing, "a reservation", "none"}}
}

// Differences tells in what a reservation is not the one that was approved.
func (t *Target) Differences(v *View) []Difference {
	var d differences
	if v.Revision != t.Revision {
		d.add(MismatchRevision, t.Revision, v.Revision)
	}
	if v.Taken != t.Taken {
		d.add(MismatchTaken, t.Taken, v.Taken)
	}
	return d
}

// String shows what was taken.
func (t Taken) String() string { return fmt.Sprintf("%d %s", t.Amount, t.Unit) }

// Misfit tells why the action does not fit a reservation as it stands. It is the narrow rule: everything that it does not prove to be
// harmless stays where it is.
func (a JobAction) Misfit(v *View, now time.Time) []Difference {
	var d differences
	switch {
	case a == CancelPending && v.State != Pending:
		d.add(MismatchState, Pending, v.State)
	case !v.State.Open():
		d.add(MismatchState, "an open state", v.State)
	}
	if v.overdue(now) {
		d.add(MismatchOverdue, "a deadline after "+timeText(now), timeText(v.Deadline))
	}
	if a == ReleaseCustomer {
		d.stuckBehindCheck(v.Lines, now)
	}
	return d
}

// stuckBehindCheck adds what speaks against this: a check was asked for, its answer is overdue, the provider never named a task for it that
// could be looked up, and no generation was ever permitted but those proved never to have run.
func (d *differences) stuckBehindCheck(lines []Line, now time.Time) {
	for _, l := range lines {
		if l.Kind == Generation && !l.Knowledge.neverRan() {
			d.add(MismatchGeneration, "none but those that never ran", fmt.Sprintf("%s %s", l.Key, l.Knowledge))
		}
	}
	l := unresolvedCheck(lines)
	switch {
	case l == nil:
		d.add(MismatchNoCheck, "a check without an answer", "none")
	case now.Before(l.CheckTimeoutAt()):
		d.add(MismatchNoCheck, "a check without an answer", fmt.Sprintf("%s may answer until %s", l.Key, timeText(l.CheckTimeoutAt())))
	case l.Task != "":
		d.add(MismatchCheckAccepted, "a check that the provider has no task for", fmt.Sprintf("%s is task %s", l.Key, l.Task))
	}
}

// unresolvedCheck returns the check whose answer is missing, or nil. Two can be only where a generation has succeeded.
func unresolvedCheck(lines []Line) *Line {
	i := slices.IndexFunc(lines, func(l Line) bool { return l.Kind == Moderation && !l.Knowledge.Final() })
	if i < 0 {
		return nil
	}
	return &lines[i]
}

// Reason tells in words why the action fits a reservation.
func (a JobAction) Reason(v *View) string {
	if l := unresolvedCheck(v.Lines); a == ReleaseCustomer && l != nil {
		return fmt.Sprintf("check %s has had no answer since %s", l.Key, timeText(l.CheckTimeoutAt()))
	}
	return "no generation of it is alive"
}

// Drift tells in what a reservation is no longer what the errand made of the target.
func (e Errand) Drift(t Target, r *Reservation) []Difference {
	var d differences
	if r.Revision != t.Revision+1 {
		d.add(MismatchRevision, t.Revision+1, r.Revision)
	}
	if r.Taken != t.Taken {
		d.add(MismatchTaken, t.Taken, r.Taken)
	}
	want := e.outcome()
	if state := want.Kind.state(); r.State != state {
		d.add(MismatchState, state, r.State)
	}
	if r.Outcome == nil || r.Outcome.Kind != want.Kind || r.Outcome.Stage != want.Stage {
		d.add(MismatchOutcome, want.words(), r.Outcome.words())
	}
	return d
}

// words are an outcome's kind and stage.
func (o *Outcome) words() string {
	if o == nil {
		return "none"
	}
	return strings.TrimSpace(string(o.Kind) + " " + string(o.Stage))
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
