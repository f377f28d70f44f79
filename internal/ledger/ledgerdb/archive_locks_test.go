package ledgerdb

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

// move archives in a transaction that stays open: it ends with the returned functions.
func (w *world) move() pgx.Tx {
	w.t.Helper()
	tx, err := w.db.Read().Begin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = tx.Rollback(w.t.Context()) })
	if _, err := tx.Exec(w.t.Context(), archiveSQL, string(tenant), time.Time{}, "", int64(0), 100); err != nil {
		w.t.Fatal(err)
	}
	return tx
}

func (w *world) commit(tx pgx.Tx) {
	w.t.Helper()
	if err := tx.Commit(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

var (
	keysOfR1  = ledger.Keys{Reservations: []ledger.ReservationID{"r1"}, Providers: []ledger.ProviderID{provider}}
	r1Blocked = Blocked{map[ledger.ReservationID]ledger.AccountID{"r1": account}, map[ledger.AccountID]bool{}, map[ledger.ProviderID]bool{}}
)

// wantBlocked expects that a batch knows of r1 and does not have it.
func (w *world) wantBlocked(b *Batch) {
	w.t.Helper()
	if diff := cmp.Diff(r1Blocked, b.Blocked); diff != "" {
		w.t.Error(diff)
	}
	if _, err := b.Book.Expire("r1"); !notFound(err) {
		w.t.Errorf("it is in the book: %v", err)
	}
	b.Rollback()
}

// wantR1 expects that a batch has r1, ended as it did.
func (w *world) wantR1(b *ledger.Book) {
	w.t.Helper()
	found, err := b.Expire("r1")
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(w.answers["r1"], found.View); diff != "" {
		w.t.Error(diff)
	}
}

// begins opens a batch in another goroutine.
func (w *world) begins(patience Patience) <-chan *Batch {
	done := make(chan *Batch, 1)
	go func() {
		b, err := w.store.Begin(w.t.Context(), tenant, keysOfR1, patience)
		if err != nil {
			w.t.Error(err)
			close(done)
			return
		}
		w.t.Cleanup(b.Rollback)
		done <- b
	}()
	return done
}

// A reservation that is on its way is never taken for one that is not there.
func TestAReservationOnItsWayIntoTheArchiveIsBlocked(t *testing.T) {
	t.Parallel()
	for name, patience := range map[string]Patience{"accounts": SkipLockedAccounts, "everything": SkipLocked} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cancelled("r1")
			moving := w.move()
			w.wantBlocked(w.begin(keysOfR1, patience))
			w.commit(moving)
			w.wantR1(w.begin(keysOfR1, patience).Book)
			w.sound()
		})
	}
}

// It arrives while the batch waits for a provider, after its own table was looked through for it.
func TestAReservationThatArrivesBehindTheLookIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cancelled("r1")
	moving := w.move()
	release := w.hold("SELECT FROM providers FOR UPDATE")
	begun := w.begins(SkipLockedAccounts)
	w.waits(1)
	w.commit(moving)
	release()
	if b, ok := <-begun; ok {
		w.wantR1(b.Book)
	}
}

// Who waits for it finds at the second look what the archiver has made of it.
func TestWhoWaitsForTheArchiverLooksAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cancelled("r1")
	moving := w.move()
	begun := w.begins(WaitForLocks)
	w.waits(1)
	if err := moving.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b, ok := <-begun; ok {
		w.wantR1(b.Book)
		b.Rollback()
	}

	moving = w.move()
	begun = w.begins(WaitForLocks)
	w.waits(1)
	w.commit(moving)
	if b, ok := <-begun; ok {
		w.wantR1(b.Book)
	}
	w.sound()
}

// Inside a transaction of somebody else's, a job's say, the second look is part of loading.
func TestLoadWaitsForTheArchiverAndFindsWhatItMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cancelled("r1")
	moving := w.move()
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := pgx.BeginFunc(t.Context(), w.db.Ledger(), func(tx pgx.Tx) error {
			loaded, err := Load(t.Context(), tx, tenant, keysOfR1)
			if err == nil {
				w.wantR1(loaded.Book)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}()
	w.waits(1)
	w.commit(moving)
	<-done
}

// What somebody else has locked, or changes meanwhile, is left for another time.
func TestTheArchiverWaitsForNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cancelled("r1", "r2")
	release := w.hold("SELECT FROM reservations WHERE reservation_id = 'r1' FOR NO KEY UPDATE")
	if got := w.archive(""); got.Looked != 2 || got.Moved != 1 || w.archived() != "r2" {
		t.Errorf("%+v, %s", got, w.archived())
	}
	release()
	if got := w.archive(""); got.Looked != 1 || got.Moved != 1 || w.archived() != "r1 r2" {
		t.Errorf("%+v, %s", got, w.archived())
	}
	w.sound()
}
