package ledger

import (
	"errors"
	"testing"
)

// A budget that has spent all that it can count denies, and takes no more: what is left of it never wraps into plenty.
func TestABudgetCannotWrap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Policy{})
	w.reserve("R", "K1")
	key := BudgetKey{Provider: "prov", PeriodStart: w.book.periods["prov"]}
	w.book.budgets.put(key, Budget{Key: key, Held: AmountMax, Spent: spentMax})
	if left := w.book.budgets.get(key).available(); left >= 0 {
		t.Errorf("%d are left", left)
	}
	a := w.reserve("R2", "K2")
	if len(a.Denied) != 1 || a.Denied[0].Reason != BudgetExhausted {
		t.Errorf("denied for %v", a.Denied)
	}
	_, err := Decide(w.book, func(b *Book) (Answer, error) {
		return b.Report(Report{Reservation: "R", Key: "K1", Knowledge: LineFailed, Cost: usd(1)})
	})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Broken {
		t.Errorf("spent more than can be counted: %v", err)
	}
}
