package ledger

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// whatOf names what differs.
func whatOf(d []Difference) string {
	c := Conflict{Differences: d}
	return c.What()
}

var (
	checkOut     = Line{Key: "C", Kind: Moderation, Stage: InputStage, Knowledge: LinePermitted, PermittedAt: start, CheckTimeoutSeconds: 60}
	lateCheck    = 60 * time.Second
	checkedTwice = Line{Key: "C0", Kind: Moderation, Stage: InputStage, Knowledge: LineFailed, PermittedAt: start, CheckTimeoutSeconds: 60}
)

func (l Line) as(k Knowledge) Line { l.Knowledge = k; return l }

func (l Line) task(id TaskID) Line { l.Task = id; return l }

func generation(k Knowledge) Line {
	return Line{Key: "K1", Kind: Generation, Knowledge: k, PermittedAt: start}
}

// The narrow rule releases a customer only where a check has had no answer for its whole time, the provider never named a task for it, and
// every generation is proved never to have run.
func TestTheNarrowRuleOfARelease(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
		lines []Line
		want  string
	}{
		{"an unanswered check", lateCheck, []Line{checkOut}, ""},
		{"a check nobody is sure of", lateCheck, []Line{checkOut.as(LineUncertain)}, ""},
		{"a check after one that failed", lateCheck, []Line{checkedTwice, checkOut}, ""},
		{"a check, and a generation that was not sent", lateCheck, []Line{checkOut, generation(LineNotSent)}, ""},
		{"a check, and a generation that was not accepted", lateCheck, []Line{checkOut, generation(LineNotAccepted)}, ""},
		{"a check, and a generation that was not received", lateCheck, []Line{checkOut, generation(LineNotReceived)}, ""},

		{"no check", lateCheck, nil, "NO_UNANSWERED_CHECK"},
		{"a check a moment before its time", lateCheck - time.Microsecond, []Line{checkOut}, "NO_UNANSWERED_CHECK"},
		{"a check that said yes or no", lateCheck, []Line{checkOut.as(LineSucceeded)}, "NO_UNANSWERED_CHECK"},
		{"a check that failed", lateCheck, []Line{checkOut.as(LineFailed)}, "NO_UNANSWERED_CHECK"},
		{"a check that was not received", lateCheck, []Line{checkOut.as(LineNotReceived)}, "NO_UNANSWERED_CHECK"},
		{"a check that the provider has", lateCheck, []Line{checkOut.as(LineAccepted).task("T")}, "CHECK_ACCEPTED"},
		{"an uncertain check with a task", lateCheck, []Line{checkOut.as(LineUncertain).task("T")}, "CHECK_ACCEPTED"},

		{"a generation that was permitted", lateCheck, []Line{checkOut, generation(LinePermitted)}, "GENERATION"},
		{"a generation nobody is sure of", lateCheck, []Line{checkOut, generation(LineUncertain)}, "GENERATION"},
		{"a generation that was accepted", lateCheck, []Line{checkOut, generation(LineAccepted)}, "GENERATION"},
		{"a generation that succeeded", lateCheck, []Line{checkOut, generation(LineSucceeded)}, "GENERATION"},
		{"a generation that ran and failed", lateCheck, []Line{checkOut, generation(LineFailed)}, "GENERATION"},
		{"a generation, and one that was not sent", lateCheck, []Line{checkOut, generation(LineNotSent), generation(LineFailed)}, "GENERATION"},
		{"a generation and no check", lateCheck, []Line{generation(LineAccepted)}, "GENERATION,NO_UNANSWERED_CHECK"},
	} {
		v := NewView(Reservation{State: openState(alive(c.lines)), Deadline: start.Add(time.Hour)}, c.lines)
		if got := whatOf(ReleaseCustomer.Misfit(&v, start.Add(c.after))); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An action fits only states that it can end, and nothing whose deadline has passed.
func TestActionsFitTheirStates(t *testing.T) {
	for _, state := range []State{Pending, Processing, Uncertain, Completed, Failed, Rejected, Cancelled, Expired} {
		for _, overdue := range []bool{false, true} {
			v := NewView(Reservation{State: state, Deadline: start.Add(time.Hour)}, []Line{checkOut})
			now := start.Add(lateCheck)
			if overdue {
				now = v.Deadline
			}
			for action, fits := range map[JobAction]bool{CancelPending: state == Pending, ReleaseCustomer: state.Open()} {
				var want []string
				if !fits {
					want = append(want, "STATE")
				}
				if overdue && state.Open() {
					want = append(want, "OVERDUE")
				}
				if got := whatOf(action.Misfit(&v, now)); got != strings.Join(want, ",") {
					t.Errorf("%s on %s, overdue %v: %q, want %q", action, state, overdue, got, want)
				}
			}
		}
	}
}

// stuck is a world with a reservation R behind a check that does not answer, and what came before its generation never ran.
func stuck(t *testing.T) *world {
	w := newWorld(t, Policy{})
	w.reserve("R", "")
	for _, in := range []BeginSubmission{
		{Reservation: "R", Key: "K1", Token: "token", Kind: Generation},
		{Reservation: "R", Key: "C", Token: "token", Kind: Moderation, Stage: InputStage, CheckTimeoutSeconds: 10},
	} {
		if _, err := Decide(w.book, func(b *Book) (PermitAnswer, error) { return b.BeginSubmission(in) }); err != nil {
			t.Fatal(err)
		}
	}
	not := Report{Reservation: "R", Key: "K1", Knowledge: LineNotSent, Token: "token"}
	if _, err := Decide(w.book, func(b *Book) (Answer, error) { return b.Report(not) }); err != nil {
		t.Fatal(err)
	}
	w.book.Now = start.Add(30 * time.Second)
	return w
}

// A release makes the customer whole, and neither asks anything of a provider nor forgets a cost: the journal is the same before and after,
// and a cost that is unknown stays held.
func TestAReleaseLeavesTheJournalAlone(t *testing.T) {
	w := stuck(t)
	before := Open(rowsOf(w.book)).view("R")
	target := Target{Reservation: "R", Revision: before.Revision, Taken: before.Taken}
	done, err := Decide(w.book, func(b *Book) (Processed, error) {
		return b.ApplyTarget(Errand{Job: "J", Action: ReleaseCustomer}, target)
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Processed{target, before.Revision + 1}); done != want {
		t.Errorf("%+v, want %+v", done, want)
	}
	after := w.book.view("R")
	if diff := cmp.Diff(before.Lines, after.Lines); diff != "" {
		t.Errorf("the journal changed: %s", diff)
	}
	want := Outcome{Kind: OutcomeModerationUnavailable, Stage: InputStage, Cause: "TIMEOUT", Observer: ByReconciliation, SettledAt: w.book.Now}
	if diff := cmp.Diff(&want, after.Outcome); diff != "" {
		t.Error(diff)
	}
	if after.State != Failed || after.Credit != Returned || after.Slot != Released || after.Budget != Held || after.Returned() != 10 || !after.CostUnresolved {
		t.Errorf("the holds are %+v", after)
	}
	entry := w.book.Changes().Entries[len(w.book.Changes().Entries)-1]
	if entry.EventKey != "end R" || entry.Type != EventType(OutcomeModerationUnavailable) || entry.Detail.Job != "J" || entry.SpentChange != 0 {
		t.Errorf("the entry is %+v", entry)
	}
	if drift := (Errand{Job: "J", Action: ReleaseCustomer}).Drift(target, &after.Reservation); len(drift) > 0 {
		t.Errorf("the drift is %v", drift)
	}
}

// A target that does not fit changes nothing, whatever else the book's calls did.
func TestAConflictLeavesTheBookAlone(t *testing.T) {
	w := stuck(t)
	r := w.book.view("R")
	before := w.book.Changes()
	for what, spoil := range map[string]func(*Target){
		"MISSING":  func(t *Target) { t.Reservation = "Q" },
		"REVISION": func(t *Target) { t.Revision-- },
		"TAKEN":    func(t *Target) { t.Taken.Amount++ },
	} {
		target := Target{Reservation: "R", Revision: r.Revision, Taken: r.Taken}
		spoil(&target)
		_, err := Decide(w.book, func(b *Book) (Processed, error) {
			return b.ApplyTarget(Errand{Job: "J", Action: ReleaseCustomer}, target)
		})
		c, ok := errors.AsType[*Conflict](err)
		if !ok || c.Reservation != target.Reservation || c.What() != what {
			t.Errorf("%v, want %s", err, what)
		}
	}
	if diff := cmp.Diff(before, w.book.Changes(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// view shows a reservation of the book.
func (b *Book) view(id ReservationID) View {
	r := *b.reservations.get(id)
	var lines []Line
	for _, k := range r.Keys {
		lines = append(lines, *b.lines.get(k))
	}
	return NewView(r, lines)
}

// rowsOf copies a book's reservations and lines.
func rowsOf(b *Book) Rows {
	rows := Rows{Now: b.Now}
	for id, r := range b.reservations.rows {
		v := b.view(id)
		copied := *r.kept
		copied.Keys = nil
		rows.Reservations = append(rows.Reservations, copied)
		rows.Lines = append(rows.Lines, slices.Clone(v.Lines)...)
	}
	return rows
}
