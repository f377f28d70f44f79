package jobs_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/grpc/codes"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
	"github.com/settlementd/settlementd/internal/reconcile/jobs"
	"github.com/settlementd/settlementd/internal/reconcile/jobs/jobdb"
)

// points are those of a chunk, in their order.
var points = []string{jobs.AfterOrders, jobs.AfterAudit, jobs.AfterCheckpoint, jobs.AfterCommit}

// worker runs chunks on one connection of its own, without a server before it.
type worker struct {
	*jobs.Server
	pool *pgxpool.Pool
}

func newWorker(t testing.TB, dsn string, fault jobs.Fault) *worker {
	t.Helper()
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, Kind: postgres.Ledger, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	config := jobs.Config{Limits: ledger.Limits{Targets: 64, Chunk: 10}, Fault: fault, Log: slog.New(slog.DiscardHandler)}
	return &worker{jobs.New(jobdb.New(pool, pool), ledgerdb.NewReader(pool), config), pool}
}

// session is everything that can be set on the worker's connection, and fails the test if a transaction is open on it.
func (w *worker) session(t testing.TB) map[string]string {
	t.Helper()
	conn, err := w.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if s := conn.Conn().PgConn().TxStatus(); s != 'I' {
		t.Errorf("the connection is in state %q", s)
	}
	// PL/pgSQL brings settings of its own, the first time that it is used.
	if _, err := conn.Exec(t.Context(), "DO 'BEGIN END'"); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "SELECT name, setting FROM pg_settings")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	settings := map[string]string{"pid": fmt.Sprint(conn.Conn().PgConn().PID())}
	for rows.Next() {
		var name, setting string
		if err := rows.Scan(&name, &setting); err != nil {
			t.Fatal(err)
		}
		settings[name] = setting
	}
	return settings
}

// Forty by ten is four calls: each changes its ten, with their audit and the checkpoint, and the one that reaches the end says so. A finished
// job does nothing, and calls no hook.
func TestChunkCommitsTogetherFortyByTen(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 40)
	var hooks []string
	w := newWorker(t, f.DB.ServiceDSN(), func(point string) error {
		hooks = append(hooks, point)
		return nil
	})
	f.approved(t, f.manifest(t, "j1", 10))
	for n := 10; n <= 40; n += 10 {
		resp, err := w.RunChunk(t.Context(), runOf("j1"))
		if err != nil {
			t.Fatal(err)
		}
		c := resp.GetChunk()
		if !slices.Equal(idsOf(c.GetProcessed()), f.ids[n-10:n]) || int(c.GetNextIndex()) != n || c.GetDone() != (n == 40) {
			t.Errorf("chunk %d: %v", n/10, c)
		}
		for _, p := range c.GetProcessed() {
			if p.GetPreviousRevision() != 0 || p.GetNewRevision() != 1 || p.GetTaken() != 10 || p.GetTakenUnit() != settlementv1.Unit_UNIT_CREDITS {
				t.Errorf("processed %v", p)
			}
		}
		f.wantPrefix(t, "j1", n)
	}
	if !slices.Equal(hooks, slices.Concat(points, points, points, points)) {
		t.Errorf("the hooks were %q", hooks)
	}
	hooks = nil
	before := f.Copy(t)
	for range 3 {
		resp, err := w.RunChunk(t.Context(), runOf("j1"))
		if c := resp.GetChunk(); err != nil || len(c.GetProcessed()) != 0 || !c.GetDone() || c.GetNextIndex() != 40 {
			t.Errorf("the finished job: %v, %v", resp, err)
		}
	}
	if len(hooks) > 0 {
		t.Errorf("the finished job called %q", hooks)
	}
	f.Unchanged(t, before)
	f.WantBooks(t, apptest.Books{Credits: apptest.Credits + 1_000_000, Attempts: apptest.Attempts})
	f.Verify(t)
}

// The last chunk is what is left, and a chunk may be larger than its job.
func TestChunkCommitsTogetherWhatIsLeft(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 8)
	f.approved(t, f.manifest(t, "j1", 3, f.ids[:7]...))
	f.approved(t, f.manifest(t, "j2", 10, f.ids[7]))
	for i, want := range []string{"3 false", "6 false", "7 true"} {
		if c := f.run(t, "j1"); fmt.Sprint(c.GetNextIndex(), " ", c.GetDone()) != want {
			t.Errorf("chunk %d: %v", i, c)
		}
	}
	if c := f.run(t, "j2"); len(c.GetProcessed()) != 1 || !c.GetDone() {
		t.Errorf("j2: %v", c)
	}
	f.wantPrefix(t, "j1", 7)
	f.wantPrefix(t, "j2", 1)
	f.Verify(t)
}

// Before COMMIT nobody sees anything of a chunk; after it, everything.
func TestChunkCommitsTogetherOrIsNotSeen(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4)
	f.approved(t, f.manifest(t, "j1", 2))
	f.run(t, "j1")
	before := f.Copy(t)
	seen := 0
	w := newWorker(t, f.DB.ServiceDSN(), func(point string) error {
		seen++
		if point != jobs.AfterCommit {
			f.Unchanged(t, before)
			return nil
		}
		f.wantPrefix(t, "j1", 4)
		return nil
	})
	if _, err := w.RunChunk(t.Context(), runOf("j1")); err != nil || seen != 4 {
		t.Errorf("%v after %d hooks", err, seen)
	}
}

// An error of a hook is passed on as it is. Before COMMIT its chunk is gone and earlier ones stay; after it the chunk stands, and the next run
// takes the next one.
func TestChunkCommitsTogetherUnlessAHookFails(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for i, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 6)
			f.approved(t, f.manifest(t, "j1", 2))
			f.run(t, "j1")
			before := f.Copy(t)
			var called []string
			w := newWorker(t, f.DB.ServiceDSN(), func(at string) error {
				if called = append(called, at); at == point {
					return boom
				}
				return nil
			})
			settings := w.session(t)
			resp, err := w.RunChunk(t.Context(), runOf("j1"))
			if !errors.Is(err, boom) || resp != nil {
				t.Errorf("%v, %v", resp, err)
			}
			if !slices.Equal(called, points[:i+1]) {
				t.Errorf("the hooks were %q", called)
			}
			if diff := cmp.Diff(settings, w.session(t)); diff != "" {
				t.Errorf("the connection is not as it was: %s", diff)
			}
			next := 4
			if point == jobs.AfterCommit {
				f.wantPrefix(t, "j1", 4)
				next = 6
			} else {
				f.Unchanged(t, before)
			}
			if c := f.run(t, "j1"); int(c.GetNextIndex()) != next {
				t.Errorf("the next run: %v", c)
			}
			f.wantPrefix(t, "j1", next)
			f.Verify(t)
		})
	}
}

// Whatever becomes of a chunk, its connection has the settings that it came with, and no transaction is open on it. While the chunk runs,
// each statement waits half a second for a lock at most, and takes two seconds.
func TestChunkCommitsTogetherAndLeavesItsConnectionAsItWas(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.approved(t, f.manifest(t, "j1", 1))
	w := newWorker(t, f.DB.ServiceDSN(), nil)
	settings := w.session(t)
	for name, want := range map[string]string{"lock_timeout": "500", "statement_timeout": "2000", "default_transaction_isolation": "read committed"} {
		if settings[name] != want {
			t.Errorf("%s is %s, want %s", name, settings[name], want)
		}
	}
	run := func(job string) error {
		_, err := w.RunChunk(t.Context(), runOf(job))
		if diff := cmp.Diff(settings, w.session(t)); diff != "" {
			t.Errorf("the connection is not as it was: %s", diff)
		}
		return err
	}
	if err := run("j1"); err != nil {
		t.Error(err)
	}
	if err := run("nothing"); err == nil {
		t.Error("an unknown job ran")
	}
	f.Extend(t, f.ids[1], 3600)
	conflict(t, run("j1"), "j1", f.ids[1], "REVISION")
	f.wantPrefix(t, "j1", 1)
}

// A reservation that is not as approved stops its chunk, whole, and every later call of it; earlier chunks stay.
func TestChunkCommitsTogetherUnlessARowDiffers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 6)
	f.approved(t, f.manifest(t, "j1", 2))
	f.run(t, "j1")
	f.Settle(t, f.ids[3], "", apptest.Cancelled())
	before := f.Copy(t)
	for range 3 {
		_, err := f.Jobs.RunChunk(t.Context(), runOf("j1"))
		conflict(t, err, "j1", f.ids[3], "REVISION,STATE")
		if !strings.Contains(err.Error(), "REVISION is 1 instead of 0; STATE is CANCELLED instead of PENDING") {
			t.Errorf("the text is %v", err)
		}
	}
	f.Unchanged(t, before)
	f.wantPrefix(t, "j1", 2)
	f.Verify(t)
}

// An earlier chunk's reservations may change as they like: nothing is compared with them, and nothing is written over them.
func TestChunkCommitsTogetherAndNeverTouchesEarlierOnes(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4)
	for _, id := range f.ids {
		f.Permitted(t, apptest.Check(id, "check-"+id, apptest.Input))
	}
	f.approved(t, f.manifest(t, "j1", 2))
	f.run(t, "j1")
	f.Reconcile(t, f.ids[0], "check-"+f.ids[0], apptest.CheckSucceeded(apptest.Money(7)))
	drifted := f.Get(t, f.ids[0])
	if c := f.run(t, "j1"); !c.GetDone() {
		t.Errorf("%v", c)
	}
	if diff := cmp.Diff(drifted.String(), f.Get(t, f.ids[0]).String()); diff != "" {
		t.Error(diff)
	}
	f.wantPrefix(t, "j1", 4)
	f.Verify(t)
}

// A job's name says nothing to another tenant, and an unknown or malformed one is no job.
func TestChunkCommitsTogetherOfAJobThatExists(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.approved(t, f.manifest(t, "j1", 1))
	for _, req := range []*settlementv1.RunChunkRequest{{TenantId: apptest.Tenant, JobId: "j2"}, {TenantId: "other", JobId: "j1"}} {
		_, err := f.Jobs.RunChunk(t.Context(), req)
		if field := failure(t, err, codes.NotFound, "NOT_FOUND").GetMetadata()["field"]; field != "job_id" {
			t.Errorf("the field is %q", field)
		}
	}
	_, err := f.Jobs.RunChunk(t.Context(), &settlementv1.RunChunkRequest{TenantId: apptest.Tenant, JobId: "j\x00"})
	invalid(t, err, "job_id")
	if n := postgrestest.Value[int](f.DB, "SELECT count(*) FROM job_audit"); n != 0 {
		t.Errorf("%d rows of audit", n)
	}
}
