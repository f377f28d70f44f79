package oracle

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Seen is all that a test sees of a reservation, its account, its provider and its budget at one moment.
type Seen struct {
	View     View
	Balances Balances
	// Revision is -1 where there is no reservation.
	Revision int64
	// Events are those of the reservation, in their order. That of another reservation is left out.
	Events []string
	// Exceptions are the reasons of what is kept, each as often as it was counted.
	Exceptions []string
	// Rows is whatever else must stand when nothing moves: all rows of the reservation, its account, provider and budget, exceptions
	// and the evidence that a view shows left out.
	Rows any
}

// Judge holds what a call answered and moved against its cell, and tells every difference. Now is in seconds since the first step. An
// answer that names a field where the cell names none is right.
func (c Cell) Judge(terms Terms, before, after Seen, answer Answer, now int64) []string {
	j := judge{}
	want := c.Moves.After(before.View, now)
	got := answer
	if c.Answer.Field == "" {
		got.Field = ""
	}
	j.same("the answer", c.Answer.String(), got.String())
	j.views("stood before", c.Situation.Stands, before.View.Timeless())
	j.views("stands", want, after.View)
	j.same("the balances before", before.View.Balances(terms), before.Balances)
	if before.View[State] == "" { // a Reserve that is granted takes what it asks for
		terms = c.Call.Under(terms)
	}
	j.same("the balances", want.Balances(terms), after.Balances)
	j.same("the revision", before.Revision+int64(len(c.Moves.Events)), after.Revision)
	j.same("the events", fmt.Sprint(c.Moves.Events), fmt.Sprint(added(before.Events, after.Events)))
	j.same("the exceptions", fmt.Sprint(sorted(c.Moves.Exceptions)), fmt.Sprint(more(before.Exceptions, after.Exceptions)))
	if len(c.Moves.Events) == 0 && c.Moves.Changes[Another] == "" {
		j.same("equal rows", true, reflect.DeepEqual(before.Rows, after.Rows))
	}
	return j.wrong
}

type judge struct{ wrong []string }

func (j *judge) same(what string, want, got any) {
	if want != got {
		j.wrong = append(j.wrong, fmt.Sprintf("%s: want %v, got %v", what, want, got))
	}
}

// views names what differs, instead of two long views.
func (j *judge) views(when string, want, got View) {
	names := maps.Clone(want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		j.same(name+" "+when, want[name], got[name])
	}
}

// added are the events that came behind those before. Should the old ones have changed, all are.
func added(before, after []string) []string {
	if len(after) < len(before) || !slices.Equal(after[:len(before)], before) {
		return after
	}
	return after[len(before):]
}

// more are the words that are there more often than before, sorted.
func more(before, after []string) []string {
	left := slices.Clone(after)
	for _, b := range before {
		i := slices.Index(left, b)
		if i < 0 {
			return append(left, "lost "+b)
		}
		left = slices.Delete(left, i, i+1)
	}
	return sorted(left)
}

func sorted(words []string) []string { return slices.Sorted(slices.Values(words)) }
