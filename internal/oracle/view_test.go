package oracle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/oracle"
)

func TestMovesAfter(t *testing.T) {
	t.Parallel()
	before := oracle.View{"state": "UNCERTAIN", "key": "UNCERTAIN", "key.permit": "30", "overdue": "MARKED", "deadline": "900"}
	moves := oracle.Moves{Changes: oracle.View{"state": "PROCESSING", "key": "ACCEPTED", "overdue": "CLEARED", "deadline": "1800"}}
	want := oracle.View{"state": "PROCESSING", "key": "ACCEPTED", "key.permit": "30", "deadline": "2701"}
	after := moves.After(before, 901)
	if diff := cmp.Diff(want, after); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(oracle.View{"state": "PROCESSING", "key": "ACCEPTED"}, after.Timeless()); diff != "" {
		t.Error(diff)
	}
}

// TestBalances counts the holds of real situations by hand.
func TestBalances(t *testing.T) {
	t.Parallel()
	table := readTable(t)
	for _, test := range []struct {
		situation string
		want      oracle.Balances
	}{
		{"unknown", oracle.Balances{CreditsAvailable: 100}},
		{"uncertain", oracle.Balances{
			CreditsAvailable: 90, CreditsHeld: 10, SlotsInUse: 1, InFlight: 1, UncertainInFlight: 1, BudgetHeld: 200,
		}},
		{"completed-37", oracle.Balances{CreditsAvailable: 90, BudgetSpent: 37}},
		{"given-up", oracle.Balances{CreditsAvailable: 100, BudgetHeld: 200}},
		{"free-accepted", oracle.Balances{CreditsAvailable: 100, FreeAttemptsHeld: 1, SlotsInUse: 1, InFlight: 1, BudgetHeld: 200}},
	} {
		situation, _ := table.SituationNamed(test.situation)
		if diff := cmp.Diff(test.want, situation.Stands.Balances(table.Terms[situation.Terms])); diff != "" {
			t.Errorf("%s: %s", test.situation, diff)
		}
	}
}

func TestBalancesAfterACall(t *testing.T) {
	t.Parallel()
	table := readTable(t)
	for _, test := range []struct {
		call, situation string
		want            oracle.Balances
	}{
		{"settle-completed-charge-4", "accepted", oracle.Balances{CreditsAvailable: 96, BudgetHeld: 200}},
		{"settle-completed", "free-accepted", oracle.Balances{CreditsAvailable: 100, BudgetHeld: 200}},
		{"reserve-other-credits", "unknown", oracle.Balances{CreditsAvailable: 89, CreditsHeld: 11, SlotsInUse: 1, InFlight: 1, BudgetHeld: 200}},
		{"reserve-everything", "cancelled", oracle.Balances{CreditsHeld: 100, SlotsInUse: 1, InFlight: 1, BudgetHeld: 1000}},
	} {
		cell, found := table.Cell(test.call, test.situation)
		if !found {
			t.Fatalf("no cell %s/%s", test.call, test.situation)
		}
		terms := cell.Call.Under(table.Terms[cell.Situation.Terms])
		if diff := cmp.Diff(test.want, cell.Moves.After(cell.Situation.Stands, 0).Balances(terms)); diff != "" {
			t.Errorf("%s: %s", cell.Name(), diff)
		}
	}
}

func TestCast(t *testing.T) {
	t.Parallel()
	cast := oracle.NewCast("j")
	first, second := cast.RequestKey(oracle.Key), cast.RequestKey(oracle.NewKey)
	cast.Promote(oracle.View{"key": "FAILED"})
	if got := cast.RequestKey(oracle.Key); got != first {
		t.Errorf("without a new key, the latest is %q, want %q", got, first)
	}
	cast.Promote(oracle.View{"key": "FAILED", "new-key": "PERMITTED"})
	if cast.RequestKey(oracle.First) != first || cast.RequestKey(oracle.Key) != second {
		t.Errorf("after a new key, the parts are %q and %q", cast.RequestKey(oracle.First), cast.RequestKey(oracle.Key))
	}
	if third := cast.RequestKey(oracle.NewKey); third == first || third == second {
		t.Errorf("the new key %q is not new", third)
	}
	if cast.Token(oracle.Key) == cast.Token(oracle.First) || cast.Task(oracle.Key) == cast.Task(oracle.First) {
		t.Error("two lines share a token or a task")
	}
}
