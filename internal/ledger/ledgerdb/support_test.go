package ledgerdb

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

const tenant ledger.TenantID = "acme"

// world is a database with one tenant, an account with credits and free attempts, and a provider with a budget.
type world struct {
	t     testing.TB
	db    *postgrestest.DB
	store *Store

	answers map[ledger.ReservationID]ledger.View // the last of each reservation
}

const (
	account  ledger.AccountID  = "alice"
	provider ledger.ProviderID = "imagen"
)

var policy = ledger.Policy{PermitSeconds: 30, NotReceivedAfterSeconds: 600, IdempotencyKeySeconds: 3600, OutputRejectionCaptures: true}

func newWorld(t testing.TB) *world {
	t.Helper()
	db := postgrestest.New(t)
	w := &world{t: t, db: db, store: New(db.Ledger()), answers: map[ledger.ReservationID]ledger.View{}}
	db.Exec("INSERT INTO tenants VALUES ($1, settlement_now())", tenant)
	w.addProvider(provider)
	w.addAccount(account)
	return w
}

func (w *world) addProvider(id ledger.ProviderID) {
	w.t.Helper()
	must(w, ledger.Keys{Providers: []ledger.ProviderID{id}}, func(b *ledger.Book) (ledger.Provider, error) {
		return b.PutProvider(ledger.ProviderSettings{
			ID: id, Currency: "USD", Enabled: true, Policy: policy, BudgetPeriod: ledger.Month, TimeZone: "Europe/Zurich", BudgetLimit: 1_000_000_000,
		})
	})
}

func (w *world) addAccount(id ledger.AccountID) {
	w.t.Helper()
	must(w, ledger.Keys{Accounts: []ledger.AccountID{id}}, func(b *ledger.Book) (ledger.Account, error) {
		return b.PutAccount(ledger.AccountSettings{ID: id, SlotLimit: 1000})
	})
	for _, unit := range []ledger.Unit{ledger.Credits, ledger.FreeAttempts} {
		g := ledger.Grant{ID: "g1", Account: id, Unit: unit, Amount: 100_000}
		must(w, ledger.Keys{Accounts: []ledger.AccountID{id}, EventKeys: []string{g.EventKey()}},
			func(b *ledger.Book) (ledger.GrantAnswer, error) { return b.Grant(g) })
	}
}

// must runs a rule as a batch of one.
func must[A any](w *world, keys ledger.Keys, rule func(*ledger.Book) (A, error)) A {
	w.t.Helper()
	answer, err := try(w, keys, rule)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer
}

func try[A any](w *world, keys ledger.Keys, rule func(*ledger.Book) (A, error)) (A, error) {
	w.t.Helper()
	var none A
	b := w.begin(keys, WaitForLocks)
	answer, err := ledger.Decide(b.Book, rule)
	if err != nil {
		b.Rollback()
		return none, err
	}
	if err := b.Commit(w.t.Context()); err != nil {
		return none, err
	}
	return answer, nil
}

func (w *world) begin(keys ledger.Keys, patience Patience) *Batch {
	w.t.Helper()
	b, err := w.store.Begin(w.t.Context(), tenant, keys, patience)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(b.Rollback)
	return b
}

func reserveOf(id ledger.ReservationID, key ledger.RequestKey) ledger.Reserve {
	return ledger.Reserve{
		ID: id, Token: "token-" + ledger.Token(key), TTLSeconds: 900, MaxAgeSeconds: 7200,
		Asked: ledger.Asked{
			Account: account, Provider: provider, Funding: ledger.Funding{Kind: ledger.FundCredits, Credits: 10},
			Budget: 200, Currency: "USD", SubmissionKey: key,
		},
	}
}

func (w *world) reserve(in ledger.Reserve) ledger.ReserveAnswer {
	w.t.Helper()
	answer := must(w, in.Keys(), func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) })
	if len(answer.Denied) > 0 {
		w.t.Fatalf("denied: %v", answer.Denied)
	}
	w.answers[in.ID] = answer.View
	return answer
}

func (w *world) settle(in ledger.Settlement) ledger.Answer {
	w.t.Helper()
	return w.keep(must(w, in.Keys(), func(b *ledger.Book) (ledger.Answer, error) { return b.Settle(in) }))
}

// waits returns when so many sessions of the service wait for a lock.
func (w *world) waits(sessions int) {
	w.t.Helper()
	const waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'settlementd_service' AND wait_event_type = 'Lock'"
	w.until("sessions wait for a lock", func() bool { return postgrestest.Value[int](w.db, waiting) == sessions })
}

// until asks the database again and again until it says so.
func (w *world) until(what string, yes func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !yes(); {
		if time.Now().After(deadline) {
			w.t.Fatalf("still not so: %s", what)
		}
	}
}

// hold locks rows in another session until the test ends or the returned function is called.
func (w *world) hold(sql string, args ...any) (release func()) {
	w.t.Helper()
	tx, err := w.db.Owner().Begin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := tx.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		if err := tx.Rollback(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(release)
	return release
}

// idle fails the test if a connection of the pool is still in use, or has been left inside a transaction.
func (w *world) idle() {
	w.t.Helper()
	if n := w.store.pool.Stat().AcquiredConns(); n > 0 {
		w.t.Errorf("%d connections were not given back", n)
	}
	const open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'settlementd_service' AND state LIKE 'idle in%'"
	if n := postgrestest.Value[int](w.db, open); n > 0 {
		w.t.Errorf("%d connections were left inside a transaction", n)
	}
}

// turnClock puts the database's clock forward.
func (w *world) turnClock(by time.Duration) {
	w.t.Helper()
	w.db.Exec(fmt.Sprintf(`CREATE OR REPLACE FUNCTION settlement_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		RETURN clock_timestamp() + interval '%d microseconds'`, by.Microseconds()))
}
