package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// open makes a pool of the service's role, closed with the test.
func open(t *testing.T, c postgres.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func ledgerOf(t *testing.T, dsn string, conns int) *pgxpool.Pool {
	t.Helper()
	return open(t, postgres.Config{DSN: dsn, Kind: postgres.Ledger, MaxConns: conns})
}

func one[T any](t *testing.T, pool *pgxpool.Pool, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := pool.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func TestSettingsOfThePools(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	names := []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "enable_memoize", "plan_cache_mode", "lock_timeout",
		"statement_timeout", "idle_in_transaction_session_timeout", "default_transaction_isolation", "TimeZone", "application_name", "search_path"}
	db.Exec(fmt.Sprintf("ALTER DATABASE %s SET default_transaction_isolation = 'serializable'", db.Name))
	for kind, want := range map[postgres.Kind][]string{
		postgres.Ledger: {"off", "off", "off", "off", "off", "force_generic_plan", "500ms", "2s", "10s", "read committed", "UTC", "here", `"Odd ""name"`},
		postgres.Read:   {"on", "on", "on", "on", "on", "auto", "0", "30s", "0", "read committed", "UTC", "here", `"Odd ""name"`},
	} {
		pool := open(t, postgres.Config{DSN: db.ServiceDSN(), Kind: kind, Schema: `Odd "name`, MaxConns: 1, ApplicationName: "here"})
		var got []string
		for _, name := range names {
			got = append(got, one[string](t, pool, "SELECT current_setting($1)", name))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("kind %d: %s", kind, diff)
		}
		if pool.Config().MaxConns != 1 {
			t.Errorf("kind %d: %d connections", kind, pool.Config().MaxConns)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for name, c := range map[string]struct {
		config postgres.Config
		says   string
	}{
		"no kind":      {postgres.Config{DSN: db.ServiceDSN()}, "Config.Kind"},
		"no DSN":       {postgres.Config{DSN: "host", Kind: postgres.Read}, "connection string"},
		"nobody there": {postgres.Config{DSN: "host=" + t.TempDir() + " user=x dbname=x", Kind: postgres.Read}, "check the address"},
		"no database":  {postgres.Config{DSN: db.ServiceDSN() + " dbname=missing", Kind: postgres.Read}, "does not exist"},
	} {
		pool, err := postgres.Open(t.Context(), c.config)
		if err == nil {
			pool.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConnectionsThatAreReadOnlyAreDropped(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	db.Exec("CREATE TABLE written (n int); GRANT INSERT ON written TO PUBLIC")
	alter := fmt.Sprintf("ALTER ROLE %s IN DATABASE %s ", postgrestest.Service, db.Name)
	db.Exec(alter + "SET default_transaction_read_only = on")
	pool := ledgerOf(t, db.ServiceDSN(), 4)
	openAll(t, pool, 4)
	if err := postgres.Writable(t.Context(), pool); !errors.Is(err, postgres.ErrReadOnly) {
		t.Errorf("Writable says %v", err)
	}
	openAll(t, pool, 4)
	db.Exec(alter + "RESET default_transaction_read_only")

	_, err := pool.Exec(t.Context(), "INSERT INTO written VALUES (1)")
	if postgres.Classify(err) != postgres.Unavailable || postgres.SQLState(err) != "25006" {
		t.Fatalf("an old connection: %v", err)
	}
	for range 4 { // none of the old ones is met again
		if _, err := pool.Exec(t.Context(), "INSERT INTO written VALUES (1)"); err != nil {
			t.Error(err)
		}
	}
	openAll(t, pool, 4)
	if err := postgres.Writable(t.Context(), pool); err != nil {
		t.Error(err)
	}
}

// openAll makes the pool have n connections.
func openAll(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	for range n {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
}

func TestBehindAPoolerTheRoleCarriesTheSettings(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	c := postgres.Config{DSN: db.ServiceDSN(), Kind: postgres.Ledger, Schema: "apart", NoPreparedStatements: true}
	fixed := 0
	for {
		pool, err := postgres.Open(t.Context(), c)
		if err == nil {
			pool.Close()
			break
		}
		_, remedy, found := strings.Cut(err.Error(), "ALTER ROLE "+postgrestest.Service+" SET ")
		name, _, _ := strings.Cut(remedy, " = ")
		if !found || fixed == 10 {
			t.Fatalf("after %d settings: %v", fixed, err)
		}
		value := map[string]string{"search_path": "apart", "timezone": "'UTC'", "default_transaction_isolation": "'read committed'",
			"lock_timeout": "'500ms'", "statement_timeout": "'2s'", "plan_cache_mode": "force_generic_plan",
			"idle_in_transaction_session_timeout": "'10s'"}[name]
		if value == "" {
			value = "off"
		}
		db.Exec(fmt.Sprintf("ALTER ROLE %s IN DATABASE %s SET %s = %s", postgrestest.Service, db.Name, name, value))
		fixed++
	}
	if fixed == 0 {
		t.Error("nothing had to be set")
	}
	pool := open(t, c)
	one[int](t, pool, "SELECT $1::int", 1)
	c.Kind = postgres.Read // the same role, as a server has it
	one[int](t, open(t, c), "SELECT $1::int", 1)
	if n := one[int](t, pool, "SELECT count(*) FROM pg_prepared_statements"); n != 0 {
		t.Errorf("%d prepared statements", n)
	}
}

func TestWritableWhenTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	proxy := postgrestest.NewProxy(t, db)
	pool := ledgerOf(t, proxy.ServiceDSN(), 1)
	proxy.Refuse()
	if err := postgres.Writable(t.Context(), pool); postgres.Classify(err) != postgres.Unavailable {
		t.Errorf("away: %v", err)
	}
	proxy.Accept()
	if err := postgres.Writable(context.Background(), pool); err != nil {
		t.Errorf("back: %v", err)
	}
}
