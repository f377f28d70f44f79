package ledgerdb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// batchItems is how many calls the batches of these tests stand for.
const batchItems = 64

// statement is a statement of the hot path with arguments of a batch.
type statement struct {
	sql  string
	args []any
}

// hotStatements are all statements of Begin and Commit, taken from the code that queues them, and last those of the archiver.
func (w *world) hotStatements(to int) []statement {
	w.t.Helper()
	var found []statement
	keys := grownKeys(batchItems, to)
	for _, everywhere := range []bool{false, true} {
		for _, patience := range []Patience{SkipLockedAccounts, ShareProviders, SkipLocked, WaitForLocks} {
			l := newLoad(tenant, keys, patience)
			l.everywhere = everywhere
			l.queueLocks()
			l.queueReads()
			found = append(found, statements(&l.batch)...)
		}
	}
	found = append(found, w.writes(keys, batchItems*2)...)
	found = append(found, w.writes(keys, 1)...)
	return append(found,
		statement{archiveSQL, []any{string(tenant), time.Time{}, "", int64(0), batchItems}},
		statement{archiveNextSQL, []any{string(tenant), time.Time{}, "", int64(0)}})
}

// reads are the statements that the sweep, a look at one reservation, and a page of a provider's statement send.
func reads(to int) []statement {
	keys := grownKeys(batchItems, to)
	return []statement{
		{dueSQL, []any{string(tenant), time.Time{}, "", batchItems}},
		{"SELECT overdue_tenants($1)", []any{batchItems}},
		{reservationSQL, []any{string(tenant), "r0"}},
		{linesOfRequests, []any{string(tenant), sorted(keys.RequestKeys), sorted(keys.Tasks)}},
		{linesOfPeriod, []any{string(tenant), "k5", batchItems, "p1", time.Time{}, time.Now().AddDate(1, 0, 0)}},
	}
}

// writes are the statements of a batch that changes the rows that the keys name, at most so many of a table, and inserts as many.
func (w *world) writes(keys ledger.Keys, most int) []statement {
	w.t.Helper()
	l := newLoad(tenant, keys, WaitForLocks)
	tx, err := w.db.Ledger().Begin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(w.t.Context())) }()
	loaded, err := l.run(w.t.Context(), tx)
	if err != nil {
		w.t.Fatal(err)
	}
	exceptionRows := l.rows.Exceptions[:min(most, len(l.rows.Exceptions))]
	c := ledger.Changes{
		Accounts:     changed(l.rows.Accounts, most, func(a *ledger.Account) { a.ID += "+" }),
		Providers:    changed(l.rows.Providers, most, func(p *ledger.Provider) { p.ID += "+" }),
		Budgets:      changed(l.rows.Budgets, most, func(b *ledger.Budget) { b.Key.PeriodStart = b.Key.PeriodStart.AddDate(1, 0, 0) }),
		Reservations: changed(l.rows.Reservations, most, func(r *ledger.Reservation) { r.ID += "+" }),
		Lines: changed(l.rows.Lines, most, func(l *ledger.Line) {
			l.Key, l.Reservation, l.Task = l.Key+"+", l.Reservation+"+", ""
		}),
		Exceptions: ledger.Changed[ledger.Exception]{Updated: exceptionRows},
		Filed:      exceptionRows,
		Entries:    changed(l.rows.Entries, most, func(e *ledger.Entry) { e.EventKey += "+" }).Inserted,
	}
	var batch pgx.Batch
	loaded.queueWrites(&batch, &c)
	loaded.shared = newShared(&l.rows)
	loaded.shared.queueMoves(&batch, string(tenant), &c)
	return statements(&batch)
}

func changed[V any](rows []V, most int, rename func(*V)) ledger.Changed[V] {
	rows = rows[:min(most, len(rows))]
	c := ledger.Changed[V]{Updated: rows, Inserted: append([]V{}, rows...)}
	for i := range c.Inserted {
		rename(&c.Inserted[i])
	}
	return c
}

func statements(b *pgx.Batch) []statement {
	return array(b.QueuedQueries, func(q **pgx.QueuedQuery) statement { return statement{(*q).SQL, (*q).Arguments} })
}

// explained is what EXPLAIN (ANALYZE, BUFFERS) says of a statement.
type explained struct {
	buffers int
	text    string
}

// scansAll tells whether a table of the ledger was read from its beginning to its end.
func (e *explained) scansAll() bool { return strings.Contains(e.text, `"Seq Scan"`) }

// explain runs statements with their generic plans, one after the other in a transaction that is rolled back. What one has written is gone
// before the next.
func explain(t *testing.T, conn *pgx.Conn, statements []statement) map[string]explained {
	t.Helper()
	found := map[string]explained{}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	for _, s := range statements {
		writes := strings.HasPrefix(s.sql, "INSERT") || strings.HasPrefix(s.sql, "WITH written")
		scope := tx
		if writes {
			if scope, err = tx.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		e := explainOne(t, scope, s)
		if writes {
			if err := scope.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if e.scansAll() || e.buffers > buffersMax*batchItems {
			t.Errorf("%d buffers: %s\n%s", e.buffers, s.sql, e.text)
		}
		found[s.sql] = e
	}
	return found
}

func explainOne(t *testing.T, tx pgx.Tx, s statement) explained {
	t.Helper()
	sd, err := tx.Conn().Prepare(t.Context(), s.sql, s.sql)
	if err != nil {
		t.Fatal(err)
	}
	literals := make([]string, len(s.args))
	for i, arg := range s.args {
		text, err := tx.Conn().TypeMap().Encode(sd.ParamOIDs[i], pgtype.TextFormatCode, arg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text == nil {
			literals[i] = "NULL"
			continue
		}
		literals[i] = "'" + strings.ReplaceAll(string(text), "'", "''") + "'"
	}
	var e explained
	sql := fmt.Sprintf("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE %s (%s)", pgx.Identifier{sd.Name}.Sanitize(), strings.Join(literals, ", "))
	if err := tx.QueryRow(t.Context(), sql, pgx.QueryExecModeSimpleProtocol).Scan(&e.text); err != nil {
		t.Fatalf("%s: %v", s.sql, err)
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(e.text), &plans); err != nil {
		t.Fatal(err)
	}
	e.buffers = plans[0].Plan.Hit + plans[0].Plan.Read
	return e
}

// connection is one connection of a pool, for the rest of the test.
func connection(t *testing.T, pool *pgxpool.Pool) *pgx.Conn {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	return conn.Conn()
}

// buffersMax is how many buffers a statement may touch for each item of its batch: a few levels of a few indexes, and the row.
const buffersMax = 40

func TestHotStatementsCostTheSameOnTenTimesTheRows(t *testing.T) {
	t.Parallel()
	type cost map[string]int
	measure := func(rows int) cost {
		w := newGrownWorld(t, rows)
		w.db.Exec("ANALYZE")
		found := cost{}
		for pool, statements := range map[*pgxpool.Pool][]statement{w.db.Ledger(): w.hotStatements(rows), w.db.Read(): reads(rows)} {
			for sql, e := range explain(t, connection(t, pool), statements) {
				found[sql] = e.buffers
			}
		}
		return found
	}
	small, large := measure(10_000), measure(100_000)
	for sql, buffers := range large {
		t.Logf("%5d %5d %.60s", small[sql], buffers, sql)
		// An index that is one level deeper costs one buffer more for each look at it.
		if buffers > small[sql]*3/2+batchItems {
			t.Errorf("%d buffers on 100,000 rows, %d on 10,000: %s", buffers, small[sql], sql)
		}
	}
}

// A plan that was made for an empty or a small table is kept while the table grows; it must be the plan that a large table needs.
func TestPlansHoldWhileTheTablesGrow(t *testing.T) {
	t.Parallel()
	const small, large = 2 * batchItems, 20_000
	for name, analysed := range map[string][]int{"never analysed": nil, "analysed when empty": {0}, "analysed when small": {small}, "always": {0, small, large}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newGrownWorld(t, 0)
			conn := connection(t, w.db.Ledger())
			for from, to := 0, 0; ; from, to = to, map[int]int{0: small, small: large}[to] {
				w.grow(from, to)
				if slices.Contains(analysed, to) {
					w.db.Exec("ANALYZE")
				}
				explain(t, conn, w.hotStatements(max(to, small)))
				if to == large {
					break
				}
			}
		})
	}
}

// The statements above are all that a busy connection has prepared.
func TestEveryHotStatementIsExplained(t *testing.T) {
	t.Parallel()
	w := newGrownWorld(t, 4*batchItems)
	known := map[string]bool{"BEGIN ISOLATION LEVEL READ COMMITTED": true, "COMMIT": true}
	for _, s := range w.hotStatements(4 * batchItems) {
		known[s.sql] = true
	}
	busy := newWorld(t)
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: busy.db.ServiceDSN(), Kind: postgres.Ledger, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	busy.store = New(pool)
	busy.play()
	rows, err := pool.Query(t.Context(), "SELECT statement FROM pg_prepared_statements")
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range prepared {
		if !known[sql] && !strings.Contains(sql, "pg_prepared_statements") && !strings.Contains(sql, "server_version_num") && !strings.Contains(sql, "INSERT INTO job") {
			t.Errorf("not explained: %s", sql)
		}
	}
	if len(prepared) < 15 {
		t.Errorf("only %d statements", len(prepared))
	}
}

// Nobody reads through a long ledger for a page of it, or for a balance that never moved.
func TestALongLedgerIsNotReadThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.unguarded(`INSERT INTO entries (tenant_id, event_key, event_type, account_id, unit, available_before, available_after, held_before, held_after,
			budget_held_change, budget_spent_change, created_at)
		SELECT 'acme', 'grant alice credits more' || i, 'CREDITS_GRANTED', 'alice', 'CREDITS', i, i + 1, 0, 0, 0, 0, now() FROM generate_series(1, 20000) i;
		DELETE FROM entries WHERE unit = 'FREE_ATTEMPTS'`)
	w.db.Exec("ANALYZE")
	tx, err := w.db.Read().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	for _, s := range []statement{
		{ledgerSQL, []any{string(tenant), string(account), int64(10_000), 50}},
		{balanceSQL, []any{string(tenant), string(account), int64(15_000)}},
	} {
		if e := explainOne(t, tx, s); e.buffers > buffersMax {
			t.Errorf("%d buffers: %s\n%s", e.buffers, s.sql, e.text)
		}
	}
}

// A page of a list is taken from both tables by an index of each, wherever it begins, and what is not over is not looked for in the archive.
func TestListsReadNoFurtherThanTheirPage(t *testing.T) {
	t.Parallel()
	w := newGrownWorld(t, 20_000)
	w.db.Exec("ANALYZE")
	tx, err := w.db.Read().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	for _, after := range []time.Time{{}, time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)} {
		for name, f := range map[string]ReservationFilter{
			"all": {}, "an account": {Account: "a500"}, "outcomes": {Outcomes: []ledger.OutcomeKind{ledger.OutcomeCompleted}},
			"not over": {UnresolvedCost: true},
		} {
			sql, args := f.page(tenant, Page{After: Cursor{after, "r"}, Size: batchItems})
			e := explainOne(t, tx, statement{sql, args})
			most := 8 * batchItems // of each reservation the row, its line, and a few levels of two indexes
			if f.UnresolvedCost {
				most = 10_000 // open ones are looked at too
			}
			if e.scansAll() || e.buffers > most || f.UnresolvedCost && strings.Contains(e.text, "archived") {
				t.Errorf("%s after %v: %d buffers: %s\n%s", name, after, e.buffers, sql, e.text)
			}
		}
	}
}

// Until a reservation ends, no update of it or of its line touches an index, nor does any of an account, a provider or a budget.
func TestOrdinaryChangesTouchNoIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: w.db.ServiceDSN(), Kind: postgres.Ledger, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.store = New(pool)
	w.reserve(reserveOf("r1", "k1"))
	w.report(ledger.Report{Reservation: "r1", Key: "k1", Knowledge: ledger.LineUncertain, Cause: "timeout"})
	must(w, ledger.Keys{Reservations: []ledger.ReservationID{"r1"}}, extend)
	pool.Close() // a session counts what it did when it ends

	const updates = `SELECT relname || ' ' || n_tup_upd || ' of which hot ' || n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = $1`
	for table, want := range map[string]string{"reservations": "reservations 2 of which hot 1", "lines": "lines 1 of which hot 1"} {
		w.until(want, func() bool { return postgrestest.Value[string](w.db, updates, table) == want })
	}
	for _, table := range []string{"accounts", "providers", "budgets"} {
		const same = `SELECT n_tup_upd = n_tup_hot_upd AND n_tup_upd > 0 OR relname = 'budgets' FROM pg_stat_user_tables WHERE relname = $1`
		if !postgrestest.Value[bool](w.db, same, table) {
			t.Errorf("an update of %s touched an index", table)
		}
	}
}
