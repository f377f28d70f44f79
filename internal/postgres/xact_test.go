package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

func TestXactStatus(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	pool := ledgerOf(t, db.ServiceDSN(), 2)
	begin := func() (pgx.Tx, uint64) {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var xid uint64
		if err := tx.QueryRow(t.Context(), "SELECT pg_current_xact_id()").Scan(&xid); err != nil {
			t.Fatal(err)
		}
		return tx, xid
	}
	check := func(xid uint64, want postgres.Status) {
		t.Helper()
		got, err := postgres.XactStatus(t.Context(), pool, xid)
		if err != nil || got != want {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	tx, xid := begin()
	check(xid, postgres.InProgress)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(xid, postgres.Committed)
	tx, xid = begin()
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(xid, postgres.Aborted)
	check(xid+1_000_000, postgres.Aborted)
}

// TestACommitThatHangsStaysUndecided: nothing that a client does or loses makes a COMMIT look decided before its standby has it.
func TestACommitThatHangsStaysUndecided(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t, nil)
	db := server.New()
	db.Exec("CREATE TABLE written (n int PRIMARY KEY, by text); GRANT ALL ON written TO PUBLIC")
	pool := ledgerOf(t, db.ServiceDSN(), 4)
	server.HangCommits()

	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var xid uint64
	var batch pgx.Batch
	batch.Queue("BEGIN")
	batch.Queue("INSERT INTO written VALUES (1)")
	batch.Queue("SELECT pg_current_xact_id()").QueryRow(func(row pgx.Row) error { return row.Scan(&xid) })
	if err := conn.SendBatch(t.Context(), &batch).Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = conn.Exec(ctx, "COMMIT")
	conn.Release()
	if !postgres.Ambiguous(err) {
		t.Errorf("COMMIT: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if status, err := postgres.Decide(ctx, pool, xid); status != postgres.InProgress || err == nil {
		t.Errorf("while it hangs: %v, %v", status, err)
	}
	if stands(db) != 0 {
		t.Error("it is seen while it hangs")
	}
	decided := make(chan postgres.Status)
	go func() {
		status, err := postgres.Decide(t.Context(), pool, xid)
		if err != nil {
			t.Error(err)
		}
		decided <- status
	}()
	server.ReleaseCommits()
	if got := <-decided; got != postgres.Committed || stands(db) != 1 {
		t.Errorf("released: %v, %d rows", got, stands(db))
	}
}

func TestInTxAnswersWhileItsCommitHangs(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t, nil)
	db := server.New()
	db.Exec("CREATE TABLE written (n int PRIMARY KEY, by text); GRANT ALL ON written TO PUBLIC")
	proxy := postgrestest.NewProxy(t, db)
	pool := ledgerOf(t, proxy.ServiceDSN(), 2)
	server.HangCommits()
	proxy.Next(postgrestest.CutOnCommit)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	runs := 0
	err := postgres.InTx(ctx, pool, postgres.TxOptions{}, once(&runs, 1))
	var lost *postgres.LostCommit
	if !errors.As(err, &lost) || lost.Status != postgres.InProgress || runs != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
	server.ReleaseCommits()
	if err := postgres.InTx(t.Context(), pool, postgres.TxOptions{}, once(&runs, 1)); err != nil || stands(db) != 1 {
		t.Errorf("released: %d rows, %v", stands(db), err)
	}
}

func TestDecideOutlivesTheServer(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t, nil)
	db := server.New()
	pool := ledgerOf(t, db.ServiceDSN(), 1)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var xid uint64
	if err := tx.QueryRow(t.Context(), "SELECT pg_current_xact_id()").Scan(&xid); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	_ = tx.Rollback(t.Context())
	decided := make(chan postgres.Status)
	go func() {
		status, err := postgres.Decide(t.Context(), pool, xid)
		if err != nil {
			t.Error(err)
		}
		decided <- status
	}()
	server.Start()
	if got := <-decided; got != postgres.Aborted {
		t.Errorf("a transaction that the crash ended is %v", got)
	}
}
