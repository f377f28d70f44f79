package oracle_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/oracle"
)

// played is a cell with what is seen of it when all is as the page says: a failure settled with a cost.
func played(t *testing.T) (cell oracle.Cell, terms oracle.Terms, before, after oracle.Seen, answer oracle.Answer) {
	t.Helper()
	table := readTable(t)
	cell, found := table.Cell("settle-failed-37", "not-sent")
	if !found {
		t.Fatal("the page has no such cell")
	}
	terms = table.Terms[cell.Situation.Terms]
	before = oracle.Seen{View: maps.Clone(cell.Situation.Stands), Revision: 2, Events: []string{"RESERVED", "PERMITTED", "REPORTED"}}
	before.View[oracle.Deadline], before.View[oracle.Key.Permit()] = "900", "30"
	before.Balances = before.View.Balances(terms)
	after = oracle.Seen{
		View: cell.Moves.After(before.View, 5), Revision: 3, Events: []string{"RESERVED", "PERMITTED", "REPORTED", "PROVIDER_FAILED"},
		Exceptions: []string{"COST_CONFLICT"},
	}
	after.Balances = after.View.Balances(terms)
	return cell, terms, before, after, oracle.Answer{Word: "APPLIED"}
}

func TestJudgeAcquits(t *testing.T) {
	t.Parallel()
	cell, terms, before, after, answer := played(t)
	if wrong := cell.Judge(terms, before, after, answer, 5); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// TestJudgeTellsWhatIsWrong breaks one thing at a time of what was seen.
func TestJudgeTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want   string
		damage func(before, after *oracle.Seen, answer *oracle.Answer)
	}{
		{"the answer: want APPLIED, got REPLAYED", func(_, _ *oracle.Seen, a *oracle.Answer) { a.Word = "REPLAYED" }},
		{"credit stands: want RETURNED, got HELD", func(_, after *oracle.Seen, _ *oracle.Answer) { after.View[oracle.Credit] = "HELD" }},
		{"deadline stands: want 900, got 901", func(_, after *oracle.Seen, _ *oracle.Answer) { after.View[oracle.Deadline] = "901" }},
		{"first stands: want , got FAILED", func(_, after *oracle.Seen, _ *oracle.Answer) { after.View["first"] = "FAILED" }},
		{"key stood before: want NOT_SENT, got ", func(before, _ *oracle.Seen, _ *oracle.Answer) { delete(before.View, "key") }},
		{"the balances:", func(_, after *oracle.Seen, _ *oracle.Answer) { after.Balances.BudgetSpent++ }},
		{"the balances before:", func(before, _ *oracle.Seen, _ *oracle.Answer) { before.Balances.SlotsInUse++ }},
		{"the revision: want 3, got 4", func(_, after *oracle.Seen, _ *oracle.Answer) { after.Revision++ }},
		{"the events:", func(_, after *oracle.Seen, _ *oracle.Answer) { after.Events = after.Events[:3] }},
		{"the events:", func(_, after *oracle.Seen, _ *oracle.Answer) { after.Events[0] = "EXTENDED" }},
		{"the exceptions:", func(_, after *oracle.Seen, _ *oracle.Answer) { after.Exceptions = nil }},
		{"lost SUPERSEDED", func(before, _ *oracle.Seen, _ *oracle.Answer) { before.Exceptions = []string{"SUPERSEDED"} }},
	} {
		t.Run(test.want, func(t *testing.T) {
			t.Parallel()
			cell, terms, before, after, answer := played(t)
			test.damage(&before, &after, &answer)
			if wrong := strings.Join(cell.Judge(terms, before, after, answer, 5), "\n"); !strings.Contains(wrong, test.want) {
				t.Errorf("got %q, want %q", wrong, test.want)
			}
		})
	}
}

// TestJudgeLooksAtTheRows: where nothing moves, nothing may move that a view does not show.
func TestJudgeLooksAtTheRows(t *testing.T) {
	t.Parallel()
	table := readTable(t)
	cell, _ := table.Cell("get", "unknown")
	seen := oracle.Seen{View: oracle.View{}, Balances: oracle.View{}.Balances(table.Terms["plain"]), Revision: -1, Rows: "one"}
	moved := seen
	moved.Rows = "another"
	answer := oracle.Answer{Word: "STATUS", Code: "NOT_FOUND", Field: "reservation_id"}
	if wrong := cell.Judge(table.Terms["plain"], seen, seen, answer, 0); len(wrong) > 0 {
		t.Error(wrong)
	}
	if wrong := cell.Judge(table.Terms["plain"], seen, moved, answer, 0); len(wrong) != 1 {
		t.Errorf("rows that moved: %q", wrong)
	}
}

func TestSay(t *testing.T) {
	t.Parallel()
	table := readTable(t)
	cast := oracle.NewCast("j")
	say := func(call, situation string) oracle.Said {
		t.Helper()
		c, known := table.CallNamed(call)
		s, stands := table.SituationNamed(situation)
		if !known || !stands {
			t.Fatalf("the page has no %s/%s", call, situation)
		}
		return s.Say(c, cast, table.Terms[s.Terms])
	}
	got := []string{
		say("begin", "reserved").Token(), say("begin-other-token", "reserved").Token(), say("report-accepted", "accepted").Task(),
		say("settle-cancelled-wrong-token", "accepted").NotSent(), say("settle-failed", "accepted").NotSent(),
		say("settle-rejected-input-check-5", "input-check").CheckKey(), say("begin-new-check", "output-check").Stage(),
		say("begin-check-other-stage", "input-check").Stage(), say("settle-completed-by-poll", "accepted").Observer(),
		say("settle-failed", "accepted").Observer(), say("evidence-cost-other-currency", "accepted").Currency(),
		say("evidence-cost-37", "accepted").Currency(),
	}
	want := []string{
		cast.Token(oracle.Key), cast.OtherToken(), cast.Task(oracle.Key), cast.OtherToken(), "", cast.RequestKey(oracle.Check),
		"OUTPUT", "OUTPUT", "POLL", "WORKER", "EUR", "USD",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := say("reserve-other-credits", "reserved").Asked("credits", 10); n != 11 {
		t.Errorf("it asks for %d credits, want 11", n)
	}
}
