package ledger

import (
	"slices"
	"testing"
	"time"
)

// Lines that were permitted in one batch have one time, and a clock can step back. Answers show them in the order of every later look.
func TestAnswersShowLinesInTheOrderOfLaterReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Policy{})
	w.reserve("R", "")
	begin := func(key RequestKey, stage Stage) []RequestKey {
		a, err := Decide(w.book, func(b *Book) (PermitAnswer, error) {
			in := BeginSubmission{Reservation: "R", Key: key, Token: "t", Kind: Generation}
			if stage != "" {
				in.Kind, in.Stage, in.CheckTimeoutSeconds = Moderation, stage, 5
			}
			return b.BeginSubmission(in)
		})
		if err != nil || a.Permit == nil {
			t.Fatal(key, a.Refused, err)
		}
		keys := make([]RequestKey, 0, len(a.View.Lines))
		for _, l := range a.View.Lines {
			keys = append(keys, l.Key)
		}
		return keys
	}
	report := func(key RequestKey, k Knowledge) {
		if _, err := Decide(w.book, func(b *Book) (Answer, error) { return b.Report(Report{Reservation: "R", Key: key, Knowledge: k}) }); err != nil {
			t.Fatal(err)
		}
	}
	begin("z", InputStage)
	if keys := begin("b", ""); !slices.Equal(keys, []RequestKey{"b", "z"}) {
		t.Errorf("in one batch: %v", keys)
	}
	report("b", LineFailed)
	w.book.Now = start.Add(time.Second)
	if keys := begin("a", ""); !slices.Equal(keys, []RequestKey{"b", "z", "a"}) {
		t.Errorf("later: %v", keys)
	}
	report("a", LineSucceeded)
	w.book.Now = start.Add(-time.Second)
	if keys := begin("y", OutputStage); !slices.Equal(keys, []RequestKey{"y", "b", "z", "a"}) {
		t.Errorf("after the clock stepped back: %v", keys)
	}
}
