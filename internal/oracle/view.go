package oracle

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A View is what can be seen of the reservation of a situation, each thing under its name in the notation of the page: "state",
// "credit", "key" (what is known of that line), "key.cost". What is absent is not so, or not known. An unknown reservation is
// an empty view. Times ("deadline", "key.permit") are seconds since the first step.
type View map[string]string

// The names of a view that are not lines.
const (
	State    = "state"
	Outcome  = "outcome"
	Credit   = "credit"
	Slot     = "slot"
	Budget   = "budget"
	Output   = "output"
	Overdue  = "overdue"
	Cancel   = "cancel"
	Deadline = "deadline"
	Another  = "another"
)

// A Part is the role that a line plays in a situation.
type Part string

// The parts.
const (
	Key        Part = "key"         // the latest generation line
	First      Part = "first"       // the generation line before it
	NewKey     Part = "new-key"     // a generation key never seen
	Check      Part = "check"       // the moderation line
	NewCheck   Part = "new-check"   // a check's key never seen
	ForeignKey Part = "foreign-key" // a key that another reservation has journaled
	UnknownKey Part = "unknown-key" // a key that nobody has
)

// Parts are those that a view can show.
var Parts = []Part{Key, First, NewKey, Check, NewCheck}

// Cost is the name of what the line cost, in micros. Its knowledge has the name of the part alone.
func (p Part) Cost() string { return string(p) + ".cost" }

// Task is the name of whether the provider's task id is known.
func (p Part) Task() string { return string(p) + ".task" }

// Permit is the name of the end of the line's permit.
func (p Part) Permit() string { return string(p) + ".permit" }

// Resent is the name of whether the line was sent again under its own key.
func (p Part) Resent() string { return string(p) + ".resent" }

// Evidence is the name of whether evidence that decided nothing is kept on the line.
func (p Part) Evidence() string { return string(p) + ".evidence" }

// isTime tells the names whose values are seconds from now in a row of the page.
func isTime(name string) bool { return name == Deadline || strings.HasSuffix(name, ".permit") }

// Timeless is the view without its times.
func (v View) Timeless() View {
	out := View{}
	for name, value := range v {
		if !isTime(name) {
			out[name] = value
		}
	}
	return out
}

// Moves are what a call changes.
type Moves struct {
	Changes    View     // the new values; times are seconds from now, overdue=CLEARED takes the mark away
	Events     []string // each is one revision
	Exceptions []string // those that the answer implies, and those beside it
}

// After is the view that the moves make of the one before, at a time in seconds since the first step.
func (m Moves) After(before View, now int64) View {
	after := maps.Clone(before)
	if after == nil {
		after = View{}
	}
	for name, value := range m.Changes {
		switch {
		case name == Overdue && value == "CLEARED":
			delete(after, Overdue)
		case isTime(name):
			seconds, _ := strconv.ParseInt(value, 10, 64) // checked when the page was read
			after[name] = strconv.FormatInt(now+seconds, 10)
		default:
			after[name] = value
		}
	}
	return after
}

// then is the moves of two changes in a row, from a view without times: what the second took back did not move.
func (m Moves) then(before View, next Moves) Moves {
	changes := View{}
	maps.Copy(changes, m.Changes)
	maps.Copy(changes, next.Changes)
	for name, value := range changes {
		unchanged := before[name] == value || name == Overdue && value == "CLEARED" && before[Overdue] == ""
		if unchanged && !isTime(name) {
			delete(changes, name)
		}
	}
	return Moves{
		Changes:    changes,
		Events:     slices.Concat(m.Events, next.Events),
		Exceptions: slices.Concat(m.Exceptions, next.Exceptions),
	}
}

// promoted is the view with a new key in the part of the latest, as the next step names it.
func (v View) promoted() View {
	out := maps.Clone(v)
	if out[string(NewKey)] == "" {
		return out
	}
	out.rename(Key, First)
	out.rename(NewKey, Key)
	return out
}

func (v View) rename(from, to Part) {
	for name, value := range maps.Clone(v) {
		if rest, found := strings.CutPrefix(name, string(from)); found && (rest == "" || rest[0] == '.') {
			delete(v, name)
			v[string(to)+rest] = value
		}
	}
}
