package ledgerdb

import (
	"errors"
	"testing"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// sharing is a world with a customer more, so that two batches have nothing in common but their provider and its budget.
func sharing(t *testing.T) *world {
	w := newWorld(t)
	w.addAccount("bob")
	w.cancelled("r0") // there is a budget now, with nothing on it
	return w
}

// shares begins a batch that has reserved for an account, and not committed yet.
func (w *world) shares(id ledger.ReservationID, account ledger.AccountID) *Batch {
	w.t.Helper()
	in := reserveOf(id, ledger.RequestKey("k-"+id))
	in.Asked.Account = account
	b := w.begin(in.Keys(), ShareProviders)
	answer, err := ledger.Decide(b.Book, func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) })
	if err != nil || len(answer.Denied) > 0 {
		w.t.Fatal(answer.Denied, err)
	}
	return b
}

// used is what the provider's rows say: in flight, held and spent.
func (w *world) used() [3]int64 {
	w.t.Helper()
	const sum = "SELECT coalesce(sum(in_flight), 0)::bigint FROM providers"
	return [3]int64{
		postgrestest.Value[int64](w.db, sum),
		postgrestest.Value[int64](w.db, "SELECT sum(held_micros)::bigint FROM budgets"), postgrestest.Value[int64](w.db, "SELECT sum(spent_micros)::bigint FROM budgets"),
	}
}

// Batches of one provider need not follow one another: each moves the counters by what it has changed.
func TestBatchesShareTheirProvider(t *testing.T) {
	t.Parallel()
	w := sharing(t)
	w.reserve(reserveOf("r1", "k1"))
	settled := w.begin(ledger.Keys{Reservations: []ledger.ReservationID{"r1"}}, ShareProviders)
	second := w.shares("r2", "bob")
	_, err := ledger.Decide(settled.Book, func(b *ledger.Book) (ledger.Answer, error) {
		return b.Settle(ledger.Settlement{
			Reservation: "r1", Key: "k1", Observer: ledger.ByPoll, OutputCheck: ledger.CheckPassed, Cost: &ledger.Money{Micros: 7, Currency: "USD"},
			Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeCompleted},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*Batch{second, settled} {
		if err := b.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got, want := w.used(), [3]int64{1, 200, 7}; got != want {
		t.Errorf("in flight, held and spent are %v instead of %v", got, want)
	}
	w.sound()
}

// What a batch has read may not be so any more when it commits. Then nothing of it stands.
func TestAProviderThatWasReadIsJudgedAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"its budget has room for one less":     "UPDATE budgets SET limit_micros = 300",
		"its budget's limit was raised":        "UPDATE budgets SET limit_micros = limit_micros + 1",
		"it takes one at a time":               "UPDATE providers SET max_in_flight = 1",
		"it was disabled":                      "UPDATE providers SET enabled = false",
		"it takes keys no longer":              "UPDATE providers SET idempotency_key_seconds = 0",
		"only its poll is believed from now":   "UPDATE providers SET authoritative_observer = 'POLL'",
		"its budget was spent by somebody":     "UPDATE budgets SET spent_micros = limit_micros - 399",
		"its next budgets are of another size": "UPDATE providers SET budget_limit_micros = 5",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := sharing(t)
			first, second := w.shares("r1", "alice"), w.shares("r2", "bob")
			if err := first.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.db.Exec(change)
			err := second.Commit(t.Context())
			var doubt *InDoubtError
			if err == nil || errors.As(err, &doubt) {
				t.Errorf("committed: %v", err)
			}
			if got := w.used(); got[0] != 1 || got[1] != 200 {
				t.Errorf("in flight, held and spent are %v", got)
			}
			if n := postgrestest.Value[int](w.db, "SELECT count(*) FROM reservations WHERE outcome_kind IS NULL"); n != 1 {
				t.Errorf("%d reservations", n)
			}
			w.idle()
		})
	}
}

// Room for exactly one more is room: what is asked of the row is what the rule asks.
func TestTheLastRoomOfASharedProviderIsTaken(t *testing.T) {
	t.Parallel()
	w := sharing(t)
	w.db.Exec("UPDATE providers SET max_in_flight = 2")
	w.reserve(reserveOf("r9", ""))
	w.db.Exec("UPDATE budgets SET limit_micros = 400")
	if err := w.shares("r1", "alice").Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := w.used(), [3]int64{2, 400, 0}; got != want {
		t.Errorf("in flight, held and spent are %v instead of %v", got, want)
	}
}

// A budget of a new period is made under its provider's lock.
func TestANewPeriodIsNotShared(t *testing.T) {
	t.Parallel()
	w := sharing(t)
	w.reserve(reserveOf("r1", ""))
	w.turnClock(40 * 24 * time.Hour)
	if err := w.shares("r2", "bob").Commit(t.Context()); !errors.Is(err, errNotShared) {
		t.Errorf("committed: %v", err)
	}
	if n := postgrestest.Value[int](w.db, "SELECT count(*) FROM budgets"); n != 1 {
		t.Errorf("%d budgets", n)
	}
	w.idle()
}

// A provider's lack of room is told by the book, because what was read without a lock is no ground for a denial. A customer's is.
func TestABookTellsOfAProvidersLackOfRoom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		scarce bool
	}{
		"a budget":   {"UPDATE budgets SET limit_micros = 399", true},
		"in flight":  {"UPDATE providers SET max_in_flight = 1", true},
		"disabled":   {"UPDATE providers SET enabled = false", true},
		"a customer": {"UPDATE accounts SET slot_limit = 0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := sharing(t)
			w.reserve(reserveOf("r1", ""))
			w.db.Exec(c.change)
			in := reserveOf("r2", "")
			in.Asked.Account = "bob"
			b := w.begin(in.Keys(), ShareProviders)
			answer, err := ledger.Decide(b.Book, func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) })
			if err != nil || len(answer.Denied) != 1 || b.Book.Scarce() != c.scarce {
				t.Errorf("%v, %v, scarce: %t", answer.Denied, err, b.Book.Scarce())
			}
		})
	}
}
