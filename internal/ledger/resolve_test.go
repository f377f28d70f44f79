package ledger

import "testing"

func (w *world) report(in Report) Answer {
	w.t.Helper()
	in.Reservation = "R"
	a, err := Decide(w.book, func(b *Book) (Answer, error) { return b.Report(in) })
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) apply(id ExceptionID) ResolveAnswer {
	w.t.Helper()
	for _, e := range w.book.Changes().Filed { // as the database would give it to the next batch
		if w.book.exceptions.get(e.ID) == nil {
			w.book.exceptions.put(e.ID, e)
		}
	}
	a, err := Decide(w.book, func(b *Book) (ResolveAnswer, error) {
		return b.Resolve(Resolve{Exception: id, Reservation: "R", As: ExceptionApplied, Reason: "statement"})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) spent() Micros {
	return w.book.budgets.get(w.book.reservations.get("R").BudgetKey()).Spent
}

// One request that the ledger does not know, charged 37 once, told by three facts.
func TestOneChargeOfAnUnknownAttemptIsSpentOnce(t *testing.T) {
	w := newWorld(t, Policy{})
	w.reserve("R", "K1")
	ids := []ExceptionID{
		w.report(Report{Key: "K0", Knowledge: LineFailed, Cost: usd(37)}).Exceptions[0].ID,
		w.report(Report{Key: "K0", Knowledge: LineNotAccepted, Cost: usd(37)}).Exceptions[0].ID,
		w.prove(Proof{Key: "K0", Kind: ProofCostConfirmed, Cost: usd(37)}, "x").Exceptions[0].ID,
	}
	for _, id := range ids {
		w.apply(id)
	}
	if w.spent() != 37 {
		t.Errorf("spent %d", w.spent())
	}
}

// Its cost is applied by an operator, and later its line is journaled with that same cost.
func TestAnAppliedCostIsNotSpentAgainByItsLine(t *testing.T) {
	w := newWorld(t, Policy{})
	w.reserve("R", "K1")
	w.apply(w.report(Report{Key: "K0", Knowledge: LineFailed, Cost: usd(37)}).Exceptions[0].ID)
	w.report(Report{Key: "K1", Knowledge: LineFailed, Cost: usd(5)})
	w.report(Report{Key: "K0", Knowledge: LineFailed, Cost: usd(37)})
	if w.spent() != 42 {
		t.Errorf("spent %d", w.spent())
	}
}
