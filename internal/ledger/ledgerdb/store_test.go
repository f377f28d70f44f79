package ledgerdb

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/ledger"
)

func TestWhatIsSavedIsLoadedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.reserve(reserveOf("r1", "k1"))
	cost := ledger.Money{Micros: 37, Currency: "USD"}
	done := w.settle(ledger.Settlement{
		Reservation: "r1", Key: "k1", Observer: ledger.ByPoll, Task: "task 1", Cost: &cost,
		Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeCompleted}, OutputCheck: ledger.CheckNotRequired,
	})
	if done.Disposition != ledger.Applied {
		t.Fatalf("%+v", done)
	}
	again := w.reserve(reserveOf("r1", "k1"))
	if !again.Replayed {
		t.Error("not replayed")
	}
	if diff := cmp.Diff(done.View, again.View); diff != "" {
		t.Error(diff)
	}
	_ = first
}
