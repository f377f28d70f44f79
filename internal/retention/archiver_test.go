package retention

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// world is a database with tenants that have an account and a provider each.
type world struct {
	t     *testing.T
	db    *postgrestest.DB
	store *ledgerdb.Store
	log   log
}

func newWorld(t *testing.T, tenants ...ledger.TenantID) *world {
	w := &world{t: t, db: postgrestest.New(t)}
	w.store = ledgerdb.New(w.db.Ledger())
	for _, tenant := range tenants {
		w.db.Exec("INSERT INTO tenants VALUES ($1, now())", tenant)
		w.db.Exec(`INSERT INTO providers VALUES ($1, 'studio', 'USD', 0, 0, 0, true, 30, 60, 0, false, false, NULL, 'NONE', '', 1000000, now())`, tenant)
		w.db.Exec(`INSERT INTO accounts VALUES ($1, 'alice', 0, 0, 0, 0, 1000000, 0, false, now())`, tenant)
	}
	return w
}

// archiver archives what is over at all.
func (w *world) archiver() *Archiver {
	return New(w.store, ledgerdb.NewReader(w.db.Read()), Config{
		After: time.Microsecond, Every: 10 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
}

// free is a reservation of no credits.
func free(id string) ledger.Reserve {
	return ledger.Reserve{ID: ledger.ReservationID(id), TTLSeconds: 900, MaxAgeSeconds: 900, Asked: ledger.Asked{
		Account: "alice", Provider: "studio", Funding: ledger.Funding{Kind: ledger.FundCredits}, Currency: "USD",
	}}
}

func cancellation(id string) ledger.Settlement {
	return ledger.Settlement{Reservation: ledger.ReservationID(id), Observer: ledger.ByWorker, Outcome: ledger.SettledOutcome{
		Kind: ledger.OutcomeCancelled, Cause: "no longer wanted",
	}}
}

// reserve makes open reservations, and cancel ends them.
func (w *world) reserve(tenant ledger.TenantID, ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		in := free(id)
		decide(w, tenant, in.Keys(), func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) })
	}
}

func (w *world) cancel(tenant ledger.TenantID, ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		in := cancellation(id)
		decide(w, tenant, in.Keys(), func(b *ledger.Book) (ledger.Answer, error) { return b.Settle(in) })
	}
}

func decide[A any](w *world, tenant ledger.TenantID, keys ledger.Keys, rule func(*ledger.Book) (A, error)) {
	w.t.Helper()
	b, err := w.store.Begin(w.t.Context(), tenant, keys, ledgerdb.WaitForLocks)
	if err != nil {
		w.t.Fatal(err)
	}
	defer b.Rollback()
	if _, err := ledger.Decide(b.Book, rule); err != nil {
		w.t.Fatal(err)
	}
	if err := b.Commit(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// over makes a reservation that is over from the first: nobody passes it while it is open.
func (w *world) over(tenant ledger.TenantID, id string) {
	w.t.Helper()
	in, end := free(id), cancellation(id)
	keys := in.Keys()
	keys.Add(end.Keys())
	decide(w, tenant, keys, func(b *ledger.Book) (ledger.Answer, error) {
		if _, err := b.Reserve(in); err != nil {
			return ledger.Answer{}, err
		}
		return b.Settle(end)
	})
}

// manyOver makes reservations r1, r2 and so on of the first tenant that are over.
func (w *world) manyOver(n int) {
	w.db.Exec(fmt.Sprintf(`SET session_replication_role = replica;
		INSERT INTO reservations SELECT 'first', 'r' || i, 'alice', 'studio', 'CREDITS', 0, 0, 'USD', NULL, NULL, NULL, 'CREDITS', 0, '1970-01-01Z',
			30, 600, 0, 7200, false, false, NULL,
			now() - interval '1 minute' + i * interval '1 microsecond', 'CANCELLED', 1, now(), now(), NULL, NULL, NULL, 'RETURNED', 0, 'RELEASED', 'ENDED',
			'CANCELLED', NULL, NULL, NULL, NULL, NULL, 'WORKER', NULL, now(), now() FROM generate_series(1, %d) i;
		RESET session_replication_role`, n))
}

// archived names what is in the archive.
func (w *world) archived() string {
	w.t.Helper()
	return postgrestest.Value[string](w.db,
		"SELECT coalesce(string_agg(tenant_id || ' ' || reservation_id, ', ' ORDER BY tenant_id, reservation_id), '') FROM archived_reservations")
}

func (w *world) wantArchived(want string) {
	w.t.Helper()
	if got := w.archived(); got != want {
		w.t.Errorf("archived: %s, want %s", got, want)
	}
}

// log keeps what is said.
type log struct {
	mu   sync.Mutex
	said strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.Write(p)
}

func (l *log) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.said.String(), text)
}

func TestAServerArchivesAsItGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "first", "second")
	w.reserve("first", "a", "b")
	w.reserve("second", "c")
	w.cancel("first", "a")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.archiver().Run(ctx)
	}()
	postgrestest.Until(t, "the first is archived", func() bool { return w.archived() == "first a" })
	w.over("first", "d")
	postgrestest.Until(t, "a later one is archived", func() bool { return w.archived() == "first a, first d" })
	stop()
	<-done
}

// A walk goes on where it was, and begins again after a while, for what was not over when it was passed.
func TestAWalkBeginsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "acme")
	a := w.archiver()
	look := func(want string) {
		t.Helper()
		if err := a.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantArchived(want)
	}
	w.reserve("acme", "a", "b")
	w.cancel("acme", "b")
	look("acme b")
	w.cancel("acme", "a")
	look("acme b")
	a.walks["acme"].began = time.Now().Add(-2 * walkAge)
	look("acme a, acme b")
}

// More than a turn's worth is archived at one look, turn by turn.
func TestALookEndsWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "first", "second")
	const n = ChunkSize*turnChunksMax + 1
	w.manyOver(n)
	if err := w.archiver().look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := postgrestest.Value[int](w.db, "SELECT count(*) FROM archived_reservations"); got != n {
		t.Errorf("%d of %d are archived", got, n)
	}
}

func TestATenantThatFailsKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "first", "second")
	for _, tenant := range []ledger.TenantID{"first", "second"} {
		w.reserve(tenant, "a")
		w.cancel(tenant, "a")
	}
	w.db.Exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''out of order''; END';
		CREATE TRIGGER fail BEFORE INSERT ON archived_reservations FOR EACH ROW WHEN (NEW.tenant_id = 'first') EXECUTE FUNCTION fail()`)
	a := w.archiver()
	if err := a.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantArchived("second a")
	if !w.log.has("tenant=first reservation=a") || !w.log.has("out of order") {
		t.Error("nobody was told")
	}
	w.db.Exec("DROP TRIGGER fail ON archived_reservations")
	if err := a.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantArchived("first a, second a")
}

// failing has reservations that cannot be archived, by a condition on NEW.
func (w *world) failing(condition string) (mend func()) {
	w.db.Exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''out of order''; END';
		CREATE TRIGGER fail BEFORE INSERT ON archived_reservations FOR EACH ROW WHEN (` + condition + `) EXECUTE FUNCTION fail()`)
	return func() { w.db.Exec("DROP TRIGGER fail ON archived_reservations; DROP FUNCTION fail()") }
}

// Reservations that cannot be archived keep none behind them waiting, at whatever place of a chunk they are, and are tried again at each look.
func TestAReservationThatFailsIsPassedAndTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "first")
	w.manyOver(ChunkSize + 300)
	mend := w.failing("NEW.reservation_id IN ('r1', 'r2', 'r300', 'r500', 'r501', 'r800')")
	a := w.archiver()
	look := func(want int) {
		t.Helper()
		if err := a.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := postgrestest.Value[int](w.db, "SELECT count(*) FROM archived_reservations"); got != want {
			t.Errorf("%d are archived, want %d", got, want)
		}
	}
	look(ChunkSize + 300 - 6)
	for _, id := range []string{"r1", "r2", "r300", "r500", "r501", "r800"} {
		if !w.log.has("tenant=first reservation=" + id + " ") {
			t.Errorf("nobody was told of %s", id)
		}
	}
	mend()
	mend = w.failing("NEW.reservation_id = 'r300'")
	look(ChunkSize + 300 - 1)
	if !w.log.has("still cannot be archived; they will be tried again\" tenant=first reservations=1") {
		t.Errorf("nobody was told that one is left: %s", w.log.said.String())
	}
	mend()
	look(ChunkSize + 300)
}

// What refuses every reservation is not asked about each of them at one look.
func TestALookEndsForATenantWhereMostOfItFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "first", "second")
	w.manyOver(100)
	w.over("second", "a")
	mend := w.failing("NEW.tenant_id = 'first'")
	a := w.archiver()
	for range 2 {
		if err := a.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.wantArchived("second a")
	if !w.log.has("10 reservations cannot be archived") || !w.log.has("reservation=r20 ") || w.log.has("reservation=r21 ") {
		t.Errorf("said: %s", w.log.said.String())
	}
	mend()
	if err := a.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := postgrestest.Value[int](w.db, "SELECT count(*) FROM archived_reservations"); got != 101 {
		t.Errorf("%d are archived", got)
	}
}

// A database that is gone is asked once a look, not once for each tenant.
func TestADatabaseThatIsGoneEndsTheLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "first", "second")
	w.db.Exec(`CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
		CREATE TRIGGER leave BEFORE INSERT ON archived_reservations FOR EACH STATEMENT EXECUTE FUNCTION leave()`)
	if err := w.archiver().look(t.Context()); err == nil || w.log.has("for a tenant") {
		t.Errorf("%v, %s", err, w.log.said.String())
	}
}
