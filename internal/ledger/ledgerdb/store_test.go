package ledgerdb

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

var all = []ledger.ReservationID{"r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"}

// What a rule answered is what the database then has, in every field, whether it is loaded for a rule or read.
func TestWhatIsSavedIsLoadedAgain(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	r := NewReader(w.db.Read())
	b := w.begin(ledger.Keys{Reservations: all}, WaitForLocks)
	for _, id := range all {
		read, err := r.Reservation(t.Context(), tenant, id)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := b.Book.Expire(id) // none is overdue, so this is a look
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.answers[id], read, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s as answered and as read: %s", id, diff)
		}
		if diff := cmp.Diff(read, loaded.View, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s as read and as loaded: %s", id, diff)
		}
	}
}

func TestExceptionsAreCountedAndResolved(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	r := NewReader(w.db.Read())
	for range 3 {
		w.settle(ledger.Settlement{
			Reservation: "r1", Key: "k1", Observer: ledger.ByCallback, Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeProviderFailed, Code: "late"},
		})
	}
	open, err := r.Exceptions(t.Context(), tenant, ExceptionFilter{Open: true, Reservation: "r1", Reasons: []ledger.Reason{ledger.SupersededOutcome}}, Page{Size: 5})
	if err != nil || len(open) != 1 {
		t.Fatalf("%+v, %v", open, err)
	}
	if open[0].Count != 3 || !open[0].FirstSeenAt.Before(open[0].LastSeenAt) {
		t.Errorf("counted %+v", open[0])
	}
	everything, err := r.Exceptions(t.Context(), tenant, ExceptionFilter{}, Page{Size: 5})
	if err != nil || len(everything) != 2 {
		t.Fatalf("%+v, %v", everything, err)
	}
	applied, err := r.Exception(t.Context(), tenant, everything[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&ledger.Money{Micros: 40, Currency: "USD"}, applied.Cost); diff != "" || applied.Resolution != ledger.ExceptionApplied {
		t.Errorf("%+v", applied)
	}
	rest, err := r.Exceptions(t.Context(), tenant, ExceptionFilter{}, Page{After: Cursor{applied.FirstSeenAt, string(applied.ID)}, Size: 5})
	if err != nil || len(rest) != 1 || rest[0].ID != open[0].ID {
		t.Errorf("the next page: %+v, %v", rest, err)
	}
}

func TestAnUnknownTenantHasNoRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, err := w.store.Begin(t.Context(), "nobody", ledger.Keys{Accounts: []ledger.AccountID{account}}, SkipLockedAccounts)
	if err != nil {
		t.Fatal(err)
	}
	if b.TenantExists || !b.Blocked.None() {
		t.Errorf("%+v", b)
	}
	if err := b.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	w.idle()
}

func TestKeysMayRepeat(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	once := ledger.Keys{
		Reservations: []ledger.ReservationID{"r7", "r1"}, Accounts: []ledger.AccountID{account}, Providers: []ledger.ProviderID{provider},
		RequestKeys: []ledger.RequestKey{"k1"}, Tasks: []ledger.TaskID{"t1"}, EventKeys: []string{"end r1"},
	}
	twice := once
	twice.Add(once)
	b := w.begin(twice, SkipLockedAccounts)
	v, err := b.Book.Expire("r1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]ledger.RequestKey{"k1"}, v.View.Keys); diff != "" {
		t.Error(diff)
	}
}

func TestNothingToWriteIsRolledBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.begin(ledger.Keys{Accounts: []ledger.AccountID{account}}, WaitForLocks)
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, err := postgres.XactStatus(t.Context(), w.store.pool, b.XID); err != nil || status != postgres.Aborted {
		t.Errorf("%v, %v", status, err)
	}
	w.idle()
}

func TestABatchInsideAnotherTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := reserveOf("r1", "k1")
	err := pgx.BeginFunc(t.Context(), w.db.Ledger(), func(tx pgx.Tx) error {
		loaded, err := Load(t.Context(), tx, tenant, in.Keys())
		if err != nil {
			return err
		}
		if _, err := ledger.Decide(loaded.Book, func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) }); err != nil {
			return err
		}
		return loaded.Save(t.Context(), tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	if !w.reserve(in).Replayed {
		t.Error("it was not saved")
	}
	if found := w.verify(); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestThePeriodIsThatOfTheClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.db.Exec(`CREATE OR REPLACE FUNCTION settlement_now() RETURNS timestamptz LANGUAGE sql VOLATILE RETURN timestamptz '2030-05-31 21:59:59.999999Z'`)
	w.reserve(reserveOf("r1", ""))
	w.db.Exec(`CREATE OR REPLACE FUNCTION settlement_now() RETURNS timestamptz LANGUAGE sql VOLATILE RETURN timestamptz '2030-05-31 22:00:00Z'`)
	w.reserve(reserveOf("r2", ""))
	w.reserve(reserveOf("r3", ""))
	got := postgrestest.Value[string](w.db, `SELECT string_agg(held_micros || ' since ' || to_char(period_start AT TIME ZONE 'UTC', 'MM-DD HH24'), ', ' ORDER BY period_start) FROM budgets`)
	if got != "200 since 04-30 22, 400 since 05-31 22" {
		t.Error(got)
	}
}

func TestALeftCallerLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reserve(reserveOf("r1", ""))
	release := w.hold("SELECT FROM accounts FOR UPDATE")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := w.store.Begin(ctx, tenant, ledger.Keys{Reservations: []ledger.ReservationID{"r1"}}, WaitForLocks)
		done <- err
	}()
	w.waits(1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) && postgres.Classify(err) != postgres.LockTimeout {
		t.Errorf("%v", err)
	}
	release()
	b := w.begin(ledger.Keys{Reservations: []ledger.ReservationID{"r1"}}, WaitForLocks)
	if err := b.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	w.idle()
}
