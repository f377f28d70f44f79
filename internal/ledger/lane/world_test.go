package lane_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

const (
	acme  ledger.TenantID  = "acme"
	alice ledger.AccountID = "alice"
	bob   ledger.AccountID = "bob"
	// credits are what every account begins with.
	credits = 1000
)

// world is a database with tenants, accounts and a provider, and lanes over a pool of their own.
type world struct {
	t     *testing.T
	db    *postgrestest.DB
	pool  *pgxpool.Pool
	lanes *lane.Lanes
	log   *records
}

func newWorld(t *testing.T, change ...func(*lane.Config)) *world {
	t.Helper()
	db := postgrestest.New(t)
	seed(db, acme, alice, bob)
	return newReplica(t, db, change...)
}

// newReplica makes lanes on a database that stands, as another server would.
func newReplica(t *testing.T, db *postgrestest.DB, change ...func(*lane.Config)) *world {
	t.Helper()
	w := &world{t: t, db: db, log: &records{}}
	config := lane.Config{BatchMax: 256, QueueMax: 4096, TurnsMax: 4, RunnersMax: 3, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	for _, f := range change {
		f(&config)
	}
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: db.ServiceDSN(), Kind: postgres.Ledger, MaxConns: config.TurnsMax})
	if err != nil {
		t.Fatal(err)
	}
	w.pool = pool
	w.lanes = lane.New(ledgerdb.New(pool), config)
	t.Cleanup(func() {
		w.close()
		pool.Close()
	})
	return w
}

// close ends the lanes and gives transactions under way all the time they need.
func (w *world) close() { w.lanes.Close(context.Background()) }

// seed makes a tenant with a provider and accounts.
func seed(db *postgrestest.DB, tenant ledger.TenantID, accounts ...ledger.AccountID) {
	db.Exec("INSERT INTO tenants VALUES ($1, now())", tenant)
	db.Exec(`INSERT INTO providers VALUES ($1, 'studio', 'USD', 0, 0, 0, true, 30, 60, 0, false, false, NULL, 'NONE', '', 1000000, now())`, tenant)
	for _, a := range accounts {
		db.Exec(`INSERT INTO accounts VALUES ($1, $2, $3, 0, 0, 0, 1000, 0, false, now())`, tenant, a, credits)
	}
}

// reserve asks for one credit of an account, or as many as are named.
func reserve(id string, account ledger.AccountID, amount ...ledger.Amount) ledger.Reserve {
	n := ledger.Amount(1)
	if len(amount) > 0 {
		n = amount[0]
	}
	return ledger.Reserve{
		ID: ledger.ReservationID(id), TTLSeconds: 900, MaxAgeSeconds: 7200,
		Asked: ledger.Asked{
			Account: account, Provider: "studio", Funding: ledger.Funding{Kind: ledger.FundCredits, Credits: n}, Budget: 1, Currency: "USD",
		},
	}
}

func (w *world) reserve(ctx context.Context, in ledger.Reserve) (ledger.ReserveAnswer, error) {
	return w.reserveIn(ctx, acme, in)
}

func (w *world) reserveIn(ctx context.Context, tenant ledger.TenantID, in ledger.Reserve) (ledger.ReserveAnswer, error) {
	return lane.Do(ctx, w.lanes, tenant, in.Keys(), func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) })
}

// granted reserves, and fails the test when that is not granted.
func (w *world) granted(in ledger.Reserve) ledger.ReserveAnswer {
	w.t.Helper()
	answer, err := w.reserve(w.t.Context(), in)
	if err != nil || len(answer.Denied) > 0 {
		w.t.Fatalf("reserve %s: %v %v", in.ID, answer.Denied, err)
	}
	return answer
}

func (w *world) cancel(ctx context.Context, id ledger.ReservationID) (ledger.Answer, error) {
	in := ledger.Settlement{
		Reservation: id, Observer: ledger.ByWorker, Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeCancelled, Cause: "no longer wanted"},
	}
	return lane.Do(ctx, w.lanes, acme, in.Keys(), func(b *ledger.Book) (ledger.Answer, error) { return b.Settle(in) })
}

// gate is a call whose rule waits: its batch is in the middle of its transaction until the test opens it.
type gate struct {
	entered chan struct{}
	opened  chan struct{}
	done    chan error
}

// gate holds the lane of a tenant. The call names no rows.
func (w *world) gate(tenant ledger.TenantID) *gate {
	w.t.Helper()
	g := &gate{entered: make(chan struct{}), opened: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		_, err := lane.Do(context.Background(), w.lanes, tenant, ledger.Keys{}, func(*ledger.Book) (struct{}, error) {
			close(g.entered)
			<-g.opened
			return struct{}{}, nil
		})
		g.done <- err
	}()
	<-g.entered
	return g
}

func (g *gate) open(t *testing.T) {
	t.Helper()
	close(g.opened)
	if err := <-g.done; err != nil {
		t.Errorf("the call that held the lane: %v", err)
	}
}

// each runs n calls at once, and returns when all of them have their answers.
func each(n int, call func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { call(i) })
	}
	wg.Wait()
}

// lock is a session that is none of ours and keeps row locks until the test releases them.
type lock struct {
	t    *testing.T
	conn *pgx.Conn
}

func (w *world) lock(query string, args ...any) *lock {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.db.OwnerDSN())
	if err != nil {
		w.t.Fatal(err)
	}
	l := &lock{w.t, conn}
	w.t.Cleanup(l.release)
	l.exec("BEGIN")
	l.exec(query, args...)
	return l
}

func (l *lock) exec(sql string, args ...any) {
	l.t.Helper()
	if _, err := l.conn.Exec(l.t.Context(), sql, args...); err != nil {
		l.t.Fatal(err)
	}
}

// release rolls back.
func (l *lock) release() { _ = l.conn.Close(context.Background()) }

const lockAccount = "SELECT FROM accounts WHERE tenant_id = $1 AND account_id = $2 FOR UPDATE"

// untilWaiting returns when so many sessions of the service wait for locks.
func (w *world) untilWaiting(n int) {
	w.t.Helper()
	postgrestest.Until(w.t, fmt.Sprintf("%d sessions wait for a lock", n), func() bool { return w.waiting() >= n })
}

func (w *world) waiting() int {
	w.t.Helper()
	return postgrestest.Value[int](w.db, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND usename = 'settlementd_service' AND wait_event_type = 'Lock'`)
}

func (w *world) count(query string, args ...any) int {
	w.t.Helper()
	return postgrestest.Value[int](w.db, query, args...)
}

// sound checks that every account, provider and budget has what its reservations leave it, and that no transaction of the lanes is left open.
func (w *world) sound() {
	w.t.Helper()
	if n := w.count(`SELECT count(*) FROM accounts a, LATERAL (
			SELECT coalesce(sum(taken_amount) FILTER (WHERE credit_state = 'HELD'), 0) AS held, count(*) FILTER (WHERE slot_state = 'HELD') AS slots
			FROM reservations r WHERE r.tenant_id = a.tenant_id AND r.account_id = a.account_id) r
		WHERE a.credits_held <> r.held OR a.slots_in_use <> r.slots OR a.credits_available + a.credits_held <> $1`, credits); n != 0 {
		w.t.Errorf("%d accounts do not agree with their reservations", n)
	}
	if n := w.count(`SELECT count(*) FROM providers p, LATERAL (
			SELECT count(*) FILTER (WHERE slot_state = 'HELD') AS slots FROM reservations r WHERE r.tenant_id = p.tenant_id AND r.provider_id = p.provider_id) r
		WHERE p.in_flight <> r.slots`); n != 0 {
		w.t.Errorf("%d providers do not agree with their reservations", n)
	}
	if n := w.count(`SELECT count(*) FROM budgets b, LATERAL (
			SELECT coalesce(sum(budget_micros) FILTER (WHERE budget_state = 'HELD'), 0) AS held FROM reservations r
			WHERE r.tenant_id = b.tenant_id AND r.provider_id = b.provider_id AND r.period_start = b.period_start) r
		WHERE b.held_micros <> r.held`); n != 0 {
		w.t.Errorf("%d budgets do not agree with their reservations", n)
	}
	if n := w.count(`SELECT count(*) FROM (
			SELECT tenant_id, reservation_id, revision + 1 AS changes FROM reservations
			EXCEPT SELECT tenant_id, reservation_id, count(*) FROM entries WHERE reservation_id IS NOT NULL GROUP BY 1, 2) x`); n != 0 {
		w.t.Errorf("%d reservations have other entries than revisions", n)
	}
	postgrestest.Until(w.t, "no transaction is open", func() bool {
		return w.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND usename = 'settlementd_service' AND xact_start IS NOT NULL`) == 0
	})
}

// records is a log that tests read.
type records struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// soon is far more than any answer should take, on a busy machine too.
const soon = 20 * time.Second

// untilQueued returns when so many calls wait behind the batch under way.
func (w *world) untilQueued(tenant ledger.TenantID, n int) {
	w.t.Helper()
	postgrestest.Until(w.t, fmt.Sprintf("%d calls are queued", n), func() bool { return w.lanes.Queued(tenant) == n })
}
