package postgrestest

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/settlementd/settlementd/internal/postgres"
)

// modes are the ways in which a COMMIT can travel.
var modes = map[string]pgx.QueryExecMode{
	"prepared":  pgx.QueryExecModeCacheStatement,
	"described": pgx.QueryExecModeCacheDescribe,
	"exec":      pgx.QueryExecModeExec,
	"simple":    pgx.QueryExecModeSimpleProtocol,
}

func connectThrough(t *testing.T, p *Proxy, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(p.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = mode
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// writeBatched sends BEGIN, an insert and COMMIT in one round trip, and reports what became of it.
func writeBatched(t *testing.T, conn *pgx.Conn, n int) error {
	t.Helper()
	var b pgx.Batch
	b.Queue("BEGIN")
	b.Queue("INSERT INTO written VALUES ($1)", n)
	b.Queue("COMMIT")
	return conn.SendBatch(t.Context(), &b).Close()
}

// writeStepwise does the same in three.
func writeStepwise(t *testing.T, conn *pgx.Conn, n int) error {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO written VALUES ($1)", n); err != nil {
		t.Fatal(err)
	}
	return tx.Commit(t.Context())
}

func TestProxyStrikesTheCommit(t *testing.T) {
	writers := map[string]func(*testing.T, *pgx.Conn, int) error{"batched": writeBatched, "stepwise": writeStepwise}
	faults := map[string]struct {
		fault  Fault
		stands int
	}{"before": {CutBeforeCommit, 0}, "after": {CutAfterCommit, 1}, "on": {CutOnCommit, 1}}
	for modeName, mode := range modes {
		for writerName, write := range writers {
			for faultName, f := range faults {
				t.Run(modeName+"/"+writerName+"/"+faultName, func(t *testing.T) {
					t.Parallel()
					db := New(t)
					db.Exec("CREATE TABLE written (n int PRIMARY KEY)")
					p := NewProxy(t, db)
					conn := connectThrough(t, p, mode)
					if err := write(t, conn, 1); err != nil {
						t.Fatalf("without a fault: %v", err)
					}
					struck := p.Next(f.fault)
					err := write(t, conn, 2)
					if !postgres.Ambiguous(err) {
						t.Errorf("the client is told %v", err)
					}
					<-struck
					if f.stands == 1 {
						Until(t, "the row is there", func() bool { return Value[int](db, "SELECT count(*) FROM written WHERE n = 2") == 1 })
					} else {
						Until(t, "the session is gone", func() bool {
							return Value[int](db, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND client_port = -1 AND pid <> pg_backend_pid()", db.Name) == 0
						})
						if got := Value[int](db, "SELECT count(*) FROM written WHERE n = 2"); got != 0 {
							t.Error("a COMMIT that never arrived stands")
						}
					}
					if got := p.Commits(); got != 2 {
						t.Errorf("%d COMMITs came by", got)
					}
				})
			}
		}
	}
}

func TestProxyKeepsItsFaultForACommitThatStands(t *testing.T) {
	db := New(t)
	db.Exec("CREATE TABLE written (n int PRIMARY KEY)")
	db.Exec("INSERT INTO written VALUES (1)")
	p := NewProxy(t, db)
	conn := connectThrough(t, p, pgx.QueryExecModeCacheStatement)
	struck := p.Next(CutAfterCommit)
	if err := writeBatched(t, conn, 1); postgres.Classify(err) != postgres.LostRace {
		t.Fatalf("a failing batch: %v", err)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := writeBatched(t, conn, 2); !postgres.Ambiguous(err) {
		t.Errorf("the next COMMIT that stands: %v", err)
	}
	<-struck
}

func TestProxyRefusesAndAccepts(t *testing.T) {
	db := New(t)
	p := NewProxy(t, db)
	conn := connectThrough(t, p, pgx.QueryExecModeExec)
	p.Refuse()
	if _, err := conn.Exec(t.Context(), "SELECT 1"); postgres.Classify(err) != postgres.Unavailable {
		t.Errorf("an open connection: %v", err)
	}
	var refused *pgconn.ConnectError
	if _, err := pgx.Connect(t.Context(), p.DSN("postgres")); !errors.As(err, &refused) {
		t.Errorf("a new connection: %v", err)
	}
	p.Accept()
	connectThrough(t, p, pgx.QueryExecModeExec)
}

func TestServerHangsCommits(t *testing.T) {
	s := NewServer(t, nil)
	db := s.New()
	db.Exec("CREATE TABLE written (n int PRIMARY KEY)")
	p := NewProxy(t, db)
	s.HangCommits()
	struck := p.Next(CutOnCommit)
	if err := writeBatched(t, connectThrough(t, p, pgx.QueryExecModeCacheStatement), 1); !postgres.Ambiguous(err) {
		t.Errorf("the client is told %v", err)
	}
	<-struck
	if got := Value[int](db, "SELECT count(*) FROM written"); got != 0 {
		t.Errorf("%d rows are seen of a COMMIT that hangs", got)
	}
	s.ReleaseCommits()
	Until(t, "the row is there", func() bool { return Value[int](db, "SELECT count(*) FROM written") == 1 })
}

func TestServerKeepsItsDataThroughKill(t *testing.T) {
	s := NewServer(t, nil)
	db := s.New()
	db.Exec("CREATE TABLE written (n int PRIMARY KEY)")
	db.Exec("INSERT INTO written VALUES (1)")
	s.Kill()
	s.Start()
	Until(t, "the pool has a live connection", func() bool { return db.Owner().Ping(t.Context()) == nil })
	if got := Value[int](db, "SELECT count(*) FROM written"); got != 1 {
		t.Errorf("%d rows", got)
	}
	s.Set("work_mem", "2MB")
	s.Reset("work_mem")
}
