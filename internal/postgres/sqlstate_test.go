package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

func TestClassOfEverySQLState(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]postgres.Class{
		"23505": postgres.LostRace,
		"23514": postgres.Data, "23503": postgres.Data, "22003": postgres.Data, "42501": postgres.Data, "SD001": postgres.Data,
		"XX000": postgres.Data, "25P02": postgres.Data, "0A000": postgres.Data, "": postgres.Data, "08": postgres.Unavailable,
		"40001": postgres.Retryable, "40P01": postgres.Retryable, "26000": postgres.Retryable,
		"55P03": postgres.LockTimeout, "57014": postgres.StatementTimeout,
		"08006": postgres.Unavailable, "08P01": postgres.Unavailable, "53100": postgres.Unavailable, "53300": postgres.Unavailable,
		"57P01": postgres.Unavailable, "57P02": postgres.Unavailable, "57P03": postgres.Unavailable, "25006": postgres.Unavailable,
		"58030": postgres.Unavailable,
	} {
		err := fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code, ConstraintName: "named"})
		if got := postgres.Classify(err); got != want {
			t.Errorf("%q is %v, want %v", code, got, want)
		}
		if postgres.SQLState(err) != code || postgres.Constraint(err) != "named" {
			t.Errorf("%q: state %q, constraint %q", code, postgres.SQLState(err), postgres.Constraint(err))
		}
	}
	if got := postgres.Classify(nil); got != postgres.None {
		t.Errorf("no error is %v", got)
	}
}

func TestClassOfWhatHappens(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	db.Exec(`CREATE TABLE things (n int CONSTRAINT one_of_each PRIMARY KEY, CONSTRAINT never_negative CHECK (n >= 0));
		INSERT INTO things VALUES (1); GRANT ALL ON things TO PUBLIC`)
	pool := ledgerOf(t, db.ServiceDSN(), 4)
	for name, c := range map[string]struct {
		do         func(context.Context) error
		class      postgres.Class
		constraint string
	}{
		"unique":     {exec(pool, "INSERT INTO things VALUES (1)"), postgres.LostRace, "one_of_each"},
		"check":      {exec(pool, "INSERT INTO things VALUES (-1)"), postgres.Data, "never_negative"},
		"our own":    {exec(pool, "DO $$ BEGIN RAISE 'no' USING ERRCODE = 'SD001'; END $$"), postgres.Data, ""},
		"no rows":    {func(ctx context.Context) error { return pool.QueryRow(ctx, "SELECT 1 WHERE false").Scan() }, postgres.Data, ""},
		"timeout":    {exec(pool, "SELECT pg_sleep(60)"), postgres.StatementTimeout, ""},
		"locked":     {func(ctx context.Context) error { return whileLocked(ctx, db, pool) }, postgres.LockTimeout, ""},
		"terminated": {exec(pool, "SELECT pg_terminate_backend(pg_backend_pid())"), postgres.Unavailable, ""},
		"read-only":  {func(ctx context.Context) error { return inReadOnly(ctx, pool) }, postgres.Unavailable, ""},
		"left":       {left(pool), postgres.CallerLeft, ""},
		"closed":     {closed(t, db), postgres.Unavailable, ""},
	} {
		err := c.do(t.Context())
		if got := postgres.Classify(err); got != c.class || postgres.Constraint(err) != c.constraint {
			t.Errorf("%s: %v of %q, want %v of %q: %v", name, got, postgres.Constraint(err), c.class, c.constraint, err)
		}
	}
}

func exec(pool *pgxpool.Pool, sql string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := pool.Exec(ctx, sql)
		return err
	}
}

func whileLocked(ctx context.Context, db *postgrestest.DB, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, db.Owner(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT FROM things FOR UPDATE"); err != nil {
			return errors.Join(errors.New("the lock itself"), err)
		}
		_, err := pool.Exec(ctx, "UPDATE things SET n = 2")
		return err
	})
}

func inReadOnly(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO things VALUES (3)")
		if err == nil {
			return nil
		}
		return errWrap{err} // the connection is closed, so BeginTxFunc's own ROLLBACK fails
	})
}

type errWrap struct{ error }

func (e errWrap) Unwrap() error { return e.error }

func left(pool *pgxpool.Pool) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return exec(pool, "SELECT 1")(ctx)
	}
}

func closed(t *testing.T, db *postgrestest.DB) func(context.Context) error {
	pool := ledgerOf(t, db.ServiceDSN(), 1)
	pool.Close()
	return exec(pool, "SELECT 1")
}

func TestAStalePlanIsRetryable(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	db.Exec("CREATE TABLE things (n int); GRANT ALL ON things TO PUBLIC")
	pool := ledgerOf(t, db.ServiceDSN(), 1)
	read := func() error {
		_, err := pool.Exec(t.Context(), "SELECT * FROM things WHERE n > $1", 0)
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	db.Exec("ALTER TABLE things ADD COLUMN more int")
	if err := read(); postgres.Classify(err) != postgres.Retryable {
		t.Errorf("the first after the change: %v", err)
	}
	if err := read(); err != nil {
		t.Errorf("the second: %v", err)
	}
}
