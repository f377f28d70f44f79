package ledgerdb

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
)

func TestLockedRowsAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	keys := ledger.Keys{
		Reservations: []ledger.ReservationID{"r1", "r2", "new"}, Accounts: []ledger.AccountID{"alice", "bob", "nobody"},
		Providers: []ledger.ProviderID{"imagen", "other", "none"},
	}
	type (
		reservationSet = map[ledger.ReservationID]ledger.AccountID
		accountSet     = map[ledger.AccountID]bool
		providerSet    = map[ledger.ProviderID]bool
	)
	for name, c := range map[string]struct {
		hold     string
		patience Patience
		want     Blocked
	}{
		"nothing":       {"SELECT", SkipLocked, Blocked{reservationSet{}, accountSet{}, providerSet{}}},
		"a reservation": {"SELECT FROM reservations WHERE reservation_id = 'r1' FOR UPDATE", SkipLockedAccounts, Blocked{reservationSet{"r1": "alice"}, accountSet{}, providerSet{}}},
		"an account":    {"SELECT FROM accounts WHERE account_id = 'bob' FOR UPDATE", SkipLockedAccounts, Blocked{reservationSet{"r2": "bob"}, accountSet{"bob": true}, providerSet{}}},
		"a provider":    {"SELECT FROM providers WHERE provider_id = 'other' FOR UPDATE", SkipLocked, Blocked{reservationSet{"r2": "bob"}, accountSet{}, providerSet{"other": true}}},
		"a budget":      {"SELECT FROM budgets WHERE provider_id = 'imagen' FOR UPDATE", SkipLocked, Blocked{reservationSet{"r1": "alice"}, accountSet{}, providerSet{"imagen": true}}},
		"a key check":   {"SELECT FROM accounts FOR KEY SHARE", SkipLocked, Blocked{reservationSet{}, accountSet{}, providerSet{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.addAccount("bob")
			w.addProvider("other")
			w.reserve(reserveOf("r1", "k1"))
			second := reserveOf("r2", "k2")
			second.Asked.Account, second.Asked.Provider = "bob", "other"
			w.reserve(second)
			w.hold(c.hold)

			b := w.begin(keys, c.patience)
			if diff := cmp.Diff(c.want, b.Blocked); diff != "" {
				t.Error(diff)
			}
			for _, id := range []ledger.ReservationID{"r1", "r2"} {
				_, blocked := c.want.Reservations[id]
				if _, err := b.Book.Expire(id); notFound(err) != blocked {
					t.Errorf("%s in the book: %v", id, err)
				}
			}
		})
	}
}

func TestAProviderIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reserve(reserveOf("r1", ""))
	w.hold("SELECT FROM budgets FOR UPDATE")
	for _, patience := range []Patience{SkipLockedAccounts, WaitForLocks} {
		_, err := w.store.Begin(t.Context(), tenant, ledger.Keys{Reservations: []ledger.ReservationID{"r1"}}, patience)
		if postgres.Classify(err) != postgres.LockTimeout {
			t.Errorf("%v: %v", patience, err)
		}
	}
	w.idle()
}

func TestARowIsReadAsItsHolderLeavesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reserve(reserveOf("r1", ""))
	first := w.begin(ledger.Keys{Reservations: []ledger.ReservationID{"r1"}}, WaitForLocks)
	done := make(chan ledger.ExtendAnswer)
	go func() {
		answer, err := try(w, ledger.Keys{Reservations: []ledger.ReservationID{"r1"}}, extend)
		if err != nil {
			t.Error(err)
		}
		done <- answer
	}()
	w.waits(1)
	if _, err := ledger.Decide(first.Book, extend); err != nil {
		t.Fatal(err)
	}
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := (<-done).View.Revision; got != 2 {
		t.Errorf("the second change made revision %d", got)
	}
}

func extend(b *ledger.Book) (ledger.ExtendAnswer, error) { return b.Extend("r1", 5000) }
