package ledgerdb

import (
	"errors"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// behindProxy has the world's store reach the database through a proxy.
func (w *world) behindProxy() *postgrestest.Proxy {
	w.t.Helper()
	proxy := postgrestest.NewProxy(w.t, w.db)
	pool, err := postgres.Open(w.t.Context(), postgres.Config{DSN: proxy.ServiceDSN(), Kind: postgres.Ledger, MaxConns: 2})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(pool.Close)
	w.store = New(pool)
	return proxy
}

// doubt commits a batch whose answer is lost.
func (w *world) doubt(proxy *postgrestest.Proxy, fault postgrestest.Fault, b *Batch) *InDoubtError {
	w.t.Helper()
	struck := proxy.Next(fault)
	err := b.Commit(w.t.Context())
	<-struck
	doubt, ok := errors.AsType[*InDoubtError](err)
	if !ok {
		w.t.Fatalf("%v", err)
	}
	return doubt
}

func (w *world) fate(doubt *InDoubtError) Fate {
	w.t.Helper()
	var fate Fate
	postgrestest.Until(w.t, "the fate is decided", func() bool {
		var err error
		fate, err = w.store.Fate(w.t.Context(), doubt)
		if err != nil {
			w.t.Fatal(err)
		}
		return fate != Undecided
	})
	return fate
}

func TestTheFateOfALostCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	proxy := w.behindProxy()
	if fate := w.fate(w.doubt(proxy, postgrestest.CutAfterCommit, w.begun("stands", "k1"))); fate != Stands {
		t.Errorf("committed: %v", fate)
	}
	if fate := w.fate(w.doubt(proxy, postgrestest.CutBeforeCommit, w.begun("lost", "k2"))); fate != Lost {
		t.Errorf("not committed: %v", fate)
	}
}

// An exception is no entry, and still its own proof.
func TestTheFateOfAnExceptionThatIsFiled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	proxy := w.behindProxy()
	w.reserve(reserveOf("r1", "k1"))
	for fault, want := range map[postgrestest.Fault]Fate{postgrestest.CutAfterCommit: Stands, postgrestest.CutBeforeCommit: Lost} {
		in := ledger.Settlement{
			Reservation: "r1", Key: ledger.RequestKey("unknown" + string(rune('0'+fault))), Observer: ledger.ByPoll,
			Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeProviderFailed, Code: "x"},
		}
		b := w.begin(in.Keys(), WaitForLocks)
		if answer, err := ledger.Decide(b.Book, func(b *ledger.Book) (ledger.Answer, error) { return b.Settle(in) }); err != nil || len(answer.Exceptions) == 0 {
			t.Fatalf("%+v %v", answer, err)
		}
		if fate := w.fate(w.doubt(proxy, fault, b)); fate != want {
			t.Errorf("%v instead of %v", fate, want)
		}
	}
}

// A server that crashed before it flushed the transaction gives its id to another one, which commits.
func TestAnIdThatWasGivenAgainProvesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	proxy := w.behindProxy()
	lost := w.doubt(proxy, postgrestest.CutBeforeCommit, w.begun("lost", "k1"))
	other := w.begun("other", "k2")
	lost.XID = other.XID
	if err := other.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fate := w.fate(lost); fate != Lost {
		t.Errorf("%v although nothing of it stands", fate)
	}
	// Nor do the same events that somebody else made to happen since.
	w.reserve(reserveOf("lost", "k1"))
	if fate := w.fate(lost); fate != Lost {
		t.Errorf("%v although another transaction did it", fate)
	}
}

// What leaves no trace of its own is decided again, which does no harm.
func TestTheFateOfSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	proxy := w.behindProxy()
	b := w.begin(ledger.Keys{Accounts: []ledger.AccountID{account}}, WaitForLocks)
	if _, err := ledger.Decide(b.Book, func(b *ledger.Book) (ledger.Account, error) {
		return b.PutAccount(ledger.AccountSettings{ID: account, SlotLimit: 7})
	}); err != nil {
		t.Fatal(err)
	}
	if fate := w.fate(w.doubt(proxy, postgrestest.CutAfterCommit, b)); fate != Lost {
		t.Errorf("%v", fate)
	}
}
