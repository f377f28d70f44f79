package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// written makes a table whose rows tell what stands.
func written(t *testing.T) *postgrestest.DB {
	t.Helper()
	db := postgrestest.New(t)
	db.Exec("CREATE TABLE written (n int PRIMARY KEY, by text); GRANT ALL ON written TO PUBLIC")
	return db
}

func stands(db *postgrestest.DB) int {
	return postgrestest.Value[int](db, "SELECT count(*) FROM written")
}

func write(ctx context.Context, tx pgx.Tx, n int) error {
	_, err := tx.Exec(ctx, "INSERT INTO written VALUES ($1)", n)
	return err
}

// once writes unless it has written already, as a transaction that may run twice must.
func once(runs *int, n int) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		*runs++
		var there bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM written WHERE n = $1)", n).Scan(&there); err != nil || there {
			return err
		}
		return write(ctx, tx, n)
	}
}

// idle fails the test when a connection is still out.
func idle(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	postgrestest.Until(t, "all connections are back", func() bool { return pool.Stat().AcquiredConns() == 0 })
}

func TestInTxCommitsOrLeavesNothing(t *testing.T) {
	t.Parallel()
	db := written(t)
	pool := ledgerOf(t, db.ServiceDSN(), 1)
	if err := postgres.InTx(t.Context(), pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		return write(ctx, tx, 1)
	}); err != nil || stands(db) != 1 {
		t.Errorf("committed: %d rows, %v", stands(db), err)
	}
	mine := errors.New("mine")
	if err := postgres.InTx(t.Context(), pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		return errors.Join(write(ctx, tx, 2), mine)
	}); !errors.Is(err, mine) || stands(db) != 1 {
		t.Errorf("refused: %d rows, %v", stands(db), err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = postgres.InTx(t.Context(), pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
			if err := write(ctx, tx, 3); err != nil {
				t.Error(err)
			}
			panic("in the middle")
		})
	}()
	idle(t, pool)
	if stands(db) != 1 {
		t.Errorf("a panic left %d rows", stands(db))
	}
	if err := postgres.InTx(t.Context(), pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		_ = write(ctx, tx, 1) // swallowed, and the server remembers
		return nil
	}); postgres.Classify(err) != postgres.Data {
		t.Errorf("a swallowed error: %v", err)
	}
}

func TestInTxIsReadCommittedWhateverTheDatabaseSays(t *testing.T) {
	t.Parallel()
	pool := openFor(t, written(t), "default_transaction_isolation=serializable")
	var got string
	if err := postgres.InTx(t.Context(), pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, "SELECT current_setting('transaction_isolation') || ' ' || current_setting('transaction_read_only')").Scan(&got)
	}); err != nil || got != "read committed off" {
		t.Errorf("%q: %v", got, err)
	}
}

func TestInTxRunsAgainAfterALostRace(t *testing.T) {
	t.Parallel()
	db := written(t)
	pool := ledgerOf(t, db.ServiceDSN(), 2)
	runs := 0
	err := postgres.InTx(t.Context(), pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		var there bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM written WHERE n = 1)").Scan(&there); err != nil || there {
			return err
		}
		if runs++; runs == 1 {
			db.Exec("INSERT INTO written VALUES (1, 'somebody else')")
		}
		return write(ctx, tx, 1)
	})
	if err != nil || runs != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
	runs = 0
	err = postgres.InTx(t.Context(), pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		runs++
		return write(ctx, tx, 1)
	})
	if postgres.Classify(err) != postgres.LostRace || runs != 3 {
		t.Errorf("a race that is never won: %d runs, %v", runs, err)
	}
	runs = 0
	err = postgres.InTx(t.Context(), pool, postgres.TxOptions{Once: true}, func(ctx context.Context, tx pgx.Tx) error {
		runs++
		return write(ctx, tx, 1)
	})
	if postgres.Classify(err) != postgres.LostRace || runs != 1 {
		t.Errorf("once: %d runs, %v", runs, err)
	}
}

func TestInTxRunsAgainAfterADeadlock(t *testing.T) {
	t.Parallel()
	db := written(t)
	db.Exec("INSERT INTO written VALUES (1), (2)")
	pool := openFor(t, db, "deadlock_timeout=10ms")
	met := make(chan struct{}, 2)
	run := func(first, second int) error {
		runs := 0
		return postgres.InTx(t.Context(), pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "UPDATE written SET by = 'x' WHERE n = $1", first); err != nil {
				return err
			}
			if runs++; runs == 1 { // both hold their first row before either asks for its second
				met <- struct{}{}
				postgrestest.Until(t, "the other has its row", func() bool { return len(met) == 2 })
			}
			_, err := tx.Exec(ctx, "UPDATE written SET by = 'x' WHERE n = $1", second)
			return err
		})
	}
	other := make(chan error)
	go func() { other <- run(2, 1) }()
	if err := errors.Join(run(1, 2), <-other); err != nil {
		t.Error(err)
	}
}

// openFor is a pool of the owner, who may set what the service may not.
func openFor(t *testing.T, db *postgrestest.DB, setting string) *pgxpool.Pool {
	t.Helper()
	return open(t, postgres.Config{DSN: db.OwnerDSN() + " options='-c " + setting + "'", Kind: postgres.Ledger, MaxConns: 4})
}

func TestInTxDoesNotWaitTwiceForALock(t *testing.T) {
	t.Parallel()
	db := written(t)
	db.Exec("INSERT INTO written VALUES (1)")
	pool := ledgerOf(t, db.ServiceDSN(), 1)
	hold, err := db.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Rollback(context.Background())
	if _, err := hold.Exec(t.Context(), "SELECT FROM written FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	runs := 0
	err = postgres.InTx(t.Context(), pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		runs++
		_, err := tx.Exec(ctx, "DELETE FROM written")
		return err
	})
	if postgres.Classify(err) != postgres.LockTimeout || runs != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
}

func TestInTxWhenTheCallerLeaves(t *testing.T) {
	t.Parallel()
	db := written(t)
	pool := ledgerOf(t, db.ServiceDSN(), 2)
	for range 20 {
		ctx, leave := context.WithCancel(t.Context())
		err := postgres.InTx(ctx, pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
			if err := write(ctx, tx, 1); err != nil {
				return err
			}
			time.AfterFunc(time.Millisecond, leave)
			_, err := tx.Exec(ctx, "SELECT pg_sleep(0.1)")
			return err
		})
		if postgres.Classify(err) != postgres.CallerLeft {
			t.Errorf("left in the middle: %v", err)
		}
	}
	idle(t, pool)
	if stands(db) != 0 {
		t.Error("half a transaction stands")
	}
	ctx, leave := context.WithCancel(t.Context())
	err := postgres.InTx(ctx, pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		err := write(ctx, tx, 1)
		leave()
		return err
	})
	if err == nil != (stands(db) == 1) {
		t.Errorf("left at the end: %d rows, %v", stands(db), err)
	}
	idle(t, pool)
}

func TestInTxWhenTheAnswerToCommitIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  postgrestest.Fault
		opts   postgres.TxOptions
		runs   int
		stands int
		status postgres.Status // of the error, where there is one
	}{
		"before":       {postgrestest.CutBeforeCommit, postgres.TxOptions{}, 2, 1, postgres.Unknown},
		"after":        {postgrestest.CutAfterCommit, postgres.TxOptions{}, 2, 1, postgres.Unknown},
		"once, before": {postgrestest.CutBeforeCommit, postgres.TxOptions{Once: true}, 1, 0, postgres.Aborted},
		"once, after":  {postgrestest.CutAfterCommit, postgres.TxOptions{Once: true}, 1, 1, postgres.Committed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := written(t)
			proxy := postgrestest.NewProxy(t, db)
			pool := ledgerOf(t, proxy.ServiceDSN(), 1)
			struck := proxy.Next(c.fault)
			runs := 0
			err := postgres.InTx(t.Context(), pool, c.opts, once(&runs, 1))
			<-struck
			if runs != c.runs || stands(db) != c.stands {
				t.Errorf("%d runs, %d rows", runs, stands(db))
			}
			var lost *postgres.LostCommit
			if c.status == postgres.Unknown {
				if err != nil {
					t.Error(err)
				}
			} else if !errors.As(err, &lost) || lost.Status != c.status || postgres.Classify(err) != postgres.Unavailable {
				t.Errorf("told %v", err)
			}
			idle(t, pool)
		})
	}
}

func TestInTxWhenTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	db := written(t)
	proxy := postgrestest.NewProxy(t, db)
	pool := ledgerOf(t, proxy.ServiceDSN(), 1)
	runs := 0
	err := postgres.InTx(t.Context(), pool, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		runs++
		proxy.Refuse()
		return write(ctx, tx, 1)
	})
	if postgres.Classify(err) != postgres.Unavailable || runs != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
	proxy.Accept()
	if err := postgres.InTx(t.Context(), pool, postgres.TxOptions{}, once(&runs, 1)); err != nil || stands(db) != 1 {
		t.Errorf("back: %d rows, %v", stands(db), err)
	}
}
