package postgrestest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/embedded"
)

// DB is a database of one test. Its pools are made at their first use and closed when the test ends.
type DB struct {
	Name string

	t       testing.TB
	cluster *cluster
	owner   pool
	ledger  pool
	read    pool
}

type pool struct {
	once sync.Once
	pool *pgxpool.Pool
}

// poolConns is how many connections each pool of a test may have.
const poolConns = 8

// New returns a database of its own for the test, on the server of this test binary, and drops it when the test ends. It is
// safe in parallel tests.
func New(t testing.TB) *DB {
	t.Helper()
	c, err := shared()
	if err != nil {
		t.Fatalf("postgrestest: no server for the tests: %v", err)
	}
	return c.database(t)
}

func (c *cluster) database(t testing.TB) *DB {
	t.Helper()
	name, err := c.create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := c.drop(context.Background(), name); err != nil && postgres.Classify(err) != postgres.Unavailable {
			t.Error(err)
		}
	})
	return &DB{Name: name, t: t, cluster: c}
}

// OwnerDSN connects as the superuser, who owns the tables: for breaking things by SQL and for looking behind policies.
func (db *DB) OwnerDSN() string { return db.cluster.server.DSN(embedded.Superuser, db.Name) }

// ServiceDSN connects as the role that the service runs as.
func (db *DB) ServiceDSN() string { return db.cluster.server.DSN(Service, db.Name) }

// Owner is a pool of the superuser, without any settings of ours.
func (db *DB) Owner() *pgxpool.Pool {
	return db.open(&db.owner, func(ctx context.Context) (*pgxpool.Pool, error) {
		cfg, err := pgxpool.ParseConfig(db.OwnerDSN())
		if err != nil {
			return nil, err
		}
		cfg.MaxConns = poolConns
		return pgxpool.NewWithConfig(ctx, cfg)
	})
}

// Ledger is a pool of the service's role for the hot path.
func (db *DB) Ledger() *pgxpool.Pool { return db.service(&db.ledger, postgres.Ledger) }

// Read is a pool of the service's role for lists and reports.
func (db *DB) Read() *pgxpool.Pool { return db.service(&db.read, postgres.Read) }

func (db *DB) service(p *pool, kind postgres.Kind) *pgxpool.Pool {
	return db.open(p, func(ctx context.Context) (*pgxpool.Pool, error) {
		return postgres.Open(ctx, postgres.Config{DSN: db.ServiceDSN(), Kind: kind, MaxConns: poolConns})
	})
}

func (db *DB) open(p *pool, open func(context.Context) (*pgxpool.Pool, error)) *pgxpool.Pool {
	db.t.Helper()
	p.once.Do(func() {
		made, err := open(db.t.Context())
		if err != nil {
			db.t.Fatalf("postgrestest: open a pool: %v", err)
		}
		db.t.Cleanup(made.Close)
		p.pool = made
	})
	return p.pool
}

// Exec runs statements as the owner; what they fail with fails the test.
func (db *DB) Exec(sql string, args ...any) {
	db.t.Helper()
	if _, err := db.Owner().Exec(db.t.Context(), sql, args...); err != nil {
		db.t.Fatalf("postgrestest: %s: %v", sql, err)
	}
}

// Value returns the one value of a query that the owner runs. No row is the zero value.
func Value[T any](db *DB, sql string, args ...any) T {
	db.t.Helper()
	var v T
	err := db.Owner().QueryRow(db.t.Context(), sql, args...).Scan(&v)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		db.t.Fatalf("postgrestest: %s: %v", sql, err)
	}
	return v
}
