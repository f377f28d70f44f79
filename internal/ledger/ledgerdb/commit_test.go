package ledgerdb

import (
	"context"
	"errors"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// begun is an open batch in which r1 was just reserved.
func (w *world) begun(id ledger.ReservationID, key ledger.RequestKey) *Batch {
	w.t.Helper()
	in := reserveOf(id, key)
	b := w.begin(in.Keys(), WaitForLocks)
	if _, err := ledger.Decide(b.Book, func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) }); err != nil {
		w.t.Fatal(err)
	}
	return b
}

func TestEveryStatementProvesItsRows(t *testing.T) {
	t.Parallel()
	for table, sql := range map[string]string{
		"accounts":     "DELETE FROM accounts",
		"providers":    "DELETE FROM providers",
		"reservations": "DELETE FROM reservations",
		"revision":     "UPDATE reservations SET revision = 7",
		"lines":        "DELETE FROM lines",
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.reserve(reserveOf("r1", "k1"))
			in := ledger.Settlement{Reservation: "r1", Key: "k1", Observer: ledger.ByPoll, Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeProviderFailed, Code: "x"}}
			b := w.begin(in.Keys(), WaitForLocks)
			if _, err := ledger.Decide(b.Book, func(b *ledger.Book) (ledger.Answer, error) { return b.Settle(in) }); err != nil {
				t.Fatal(err)
			}
			// The rows change under the lock, as only somebody who goes around all of this can do.
			if _, err := b.conn.Exec(t.Context(), "ROLLBACK; BEGIN"); err != nil {
				t.Fatal(err)
			}
			w.unguarded(sql)
			err := b.Commit(t.Context())
			if postgres.SQLState(err) != "SD001" {
				t.Errorf("%v", err)
			}
			w.idle()
			if n := postgrestest.Value[int](w.db, "SELECT count(*) FROM entries WHERE event_key = 'end r1'"); n != 0 {
				t.Error("a part of it stands")
			}
		})
	}
}

func TestALostRaceTellsItsConstraint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reserve(reserveOf("r1", "k1"))
	for constraint, make := range map[string]func() *Batch{
		"reservations_pkey": func() *Batch { return w.begunBlind("r1", "k9", "") },
		"lines_pkey":        func() *Batch { return w.begunBlind("r9", "k1", "") },
		eventsOnce:          func() *Batch { return w.begunBlind("r8", "k8", "reserve r8") },
	} {
		err := make().Commit(t.Context())
		if postgres.Classify(err) != postgres.LostRace || postgres.Constraint(err) != constraint {
			t.Errorf("%s: %v", constraint, err)
		}
		if IsEntryConflict(err) != (constraint == eventsOnce) {
			t.Errorf("%s is an entry's conflict: %v", constraint, IsEntryConflict(err))
		}
	}
	w.idle()
	if found := w.verify(); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// begunBlind is an open batch in which a reservation was made without a look at what stands, as if it had come a moment later.
func (w *world) begunBlind(id ledger.ReservationID, key ledger.RequestKey, event string) *Batch {
	w.t.Helper()
	in := reserveOf(id, key)
	b := w.begin(ledger.Keys{Accounts: []ledger.AccountID{account}, Providers: []ledger.ProviderID{provider}}, WaitForLocks)
	if _, err := ledger.Decide(b.Book, func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) }); err != nil {
		w.t.Fatal(err)
	}
	if event != "" {
		_, err := b.conn.Exec(w.t.Context(), `INSERT INTO entries (tenant_id, event_key, event_type, account_id, budget_held_change, budget_spent_change, created_at)
			VALUES ($1, $2, 'RESERVED', $3, 0, 0, settlement_now())`, tenant, event, account)
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return b
}

func TestACommitWhoseAnswerIsLostIsInDoubt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	proxy := postgrestest.NewProxy(t, w.db)
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: proxy.ServiceDSN(), Kind: postgres.Ledger, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w.store = New(pool)
	for fault, want := range map[postgrestest.Fault]postgres.Status{
		postgrestest.CutAfterCommit: postgres.Committed, postgrestest.CutBeforeCommit: postgres.Aborted,
	} {
		id := ledger.ReservationID("r" + want.String())
		b := w.begun(id, "")
		struck := proxy.Next(fault)
		err := b.Commit(t.Context())
		<-struck
		var doubt *InDoubtError
		if !errors.As(err, &doubt) || doubt.XID != b.XID {
			t.Fatalf("%v: %v", want, err)
		}
		status, err := postgres.Decide(t.Context(), pool, doubt.XID)
		if err != nil || status != want {
			t.Errorf("%v, %v instead of %v", status, err, want)
		}
		stands := postgrestest.Value[int](w.db, "SELECT count(*) FROM reservations WHERE reservation_id = $1", id)
		if (stands == 1) != (want == postgres.Committed) {
			t.Errorf("%v: %d rows", want, stands)
		}
	}
	w.idle()
}

func TestACommitThatWasNotSentIsNoDoubt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.begun("r1", "k1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := b.Commit(ctx)
	var doubt *InDoubtError
	if errors.As(err, &doubt) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.idle()
	if n := postgrestest.Value[int](w.db, "SELECT count(*) FROM reservations"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// A transaction that has failed answers COMMIT with ROLLBACK, which is no success.
func TestCommitOfAFailedTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.begun("r1", "k1")
	_, _ = b.conn.Exec(t.Context(), "SELECT 1 / 0")
	err := b.Commit(t.Context())
	var doubt *InDoubtError
	if err == nil || errors.As(err, &doubt) {
		t.Errorf("%v", err)
	}
	w.idle()
}

func TestWithoutPreparedStatements(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.db.Exec(`ALTER ROLE settlementd_service IN DATABASE ` + w.db.Name + ` SET enable_seqscan = off`)
	for name, value := range map[string]string{
		"timezone": "UTC", "default_transaction_isolation": "read committed", "enable_bitmapscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "enable_memoize": "off",
		"plan_cache_mode": "force_generic_plan", "lock_timeout": "500ms", "statement_timeout": "2s",
		"idle_in_transaction_session_timeout": "10s",
	} {
		w.db.Exec("ALTER ROLE settlementd_service IN DATABASE " + w.db.Name + " SET " + name + " = '" + value + "'")
	}
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: w.db.ServiceDSN(), Kind: postgres.Ledger, MaxConns: 2, NoPreparedStatements: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w.store = New(pool)
	w.play()
	if found := w.verify(); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	w.idle()
}
