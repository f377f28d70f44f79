package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Kind tells what the connections of a pool are for.
type Kind int

// The kinds of pools.
const (
	Ledger Kind = iota + 1 // short transactions of the hot path: pinned plans, short timeouts
	Read                   // lists, reports, sweeps, verify: the planner is free, statements may take their time
)

// Config says how to reach the database and what for. Only DSN and Kind are required.
type Config struct {
	DSN             string // a libpq connection string or URL
	Kind            Kind
	Schema          string // becomes the search_path; empty leaves the role's own
	MaxConns        int    // 0: as the DSN says, else pgx's default
	ApplicationName string // shown in pg_stat_activity; a name in the DSN wins

	// NoPreparedStatements is for a pooler between us and the server that hands connections out per transaction and
	// does not know prepared statements (pgbouncer before 1.21). Such a pooler passes no settings on either, so Open
	// sends none; the role must carry them (ALTER ROLE … SET), and Open refuses the pool when it does not.
	NoPreparedStatements bool
}

const (
	lockTimeout      = "500ms"
	statementTimeout = "2s"
	idleTimeout      = "10s" // between two statements: the locks of a server that is frozen are not its own for ever
	readTimeout      = "30s"
	connectTimeout   = 5 * time.Second
)

// Open makes a pool and proves by one connection that it works; the caller closes it. Every connection carries its settings
// from its first byte, so no statement runs without them.
//
// A connection that answers "read-only transaction" is the remains of a failover or of a demoted server. It is closed at
// once, and all of its pool that are as old go too as they come back: the next try meets the server that can write.
func Open(ctx context.Context, c Config) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(c.DSN)
	if err != nil {
		return nil, fmt.Errorf("postgres: the connection string: %w", err)
	}
	if c.MaxConns > 0 {
		cfg.MaxConns = int32(c.MaxConns)
	}
	settings, err := c.settings()
	if err != nil {
		return nil, err
	}
	conn := cfg.ConnConfig
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTimeout
	}
	if c.ApplicationName != "" && conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = c.ApplicationName
	}
	if c.NoPreparedStatements {
		conn.DefaultQueryExecMode = pgx.QueryExecModeExec
		conn.StatementCacheCapacity, conn.DescriptionCacheCapacity = 0, 0
	} else {
		maps.Copy(conn.RuntimeParams, settings)
	}
	if c.Kind == Ledger {
		cfg.BeforeConnect = withoutCancel
		cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
			encodeArrays(conn)
			return nil
		}
	}
	pool, err := newPool(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := check(ctx, pool, c, settings); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// withoutCancel takes a connection's means to cancel its statement once it is made. pgx asks the server to cancel whenever a
// connection breaks or its context ends, and a COMMIT that waits for its standby takes that for "do not wait": the
// transaction would look committed and be lost with the server. The statements of the ledger end by their own short timeouts.
func withoutCancel(_ context.Context, conn *pgx.ConnConfig) error {
	dial, made := conn.DialFunc, new(atomic.Bool)
	conn.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if made.Load() {
			return nil, errors.New("postgres: a statement of the ledger is not cancelled")
		}
		return dial(ctx, network, address)
	}
	after := conn.AfterConnect
	conn.AfterConnect = func(ctx context.Context, pg *pgconn.PgConn) error {
		made.Store(true)
		if after != nil {
			return after(ctx, pg)
		}
		return nil
	}
	return nil
}

// newPool makes the pool that drops its connections when one of them turns out to be read-only.
func newPool(ctx context.Context, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	var self atomic.Pointer[pgxpool.Pool]
	passed := cfg.ConnConfig.OnPgError
	cfg.ConnConfig.OnPgError = func(conn *pgconn.PgConn, e *pgconn.PgError) bool {
		if e.Code != readOnly {
			return passed(conn, e)
		}
		if pool := self.Load(); pool != nil {
			pool.Reset()
		}
		return false
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	self.Store(pool)
	return pool, nil
}

// settings returns what every connection of the kind must run with.
func (c Config) settings() (map[string]string, error) {
	s := map[string]string{
		"timezone":                      "UTC",
		"default_transaction_isolation": "read committed",
	}
	if c.Schema != "" {
		s["search_path"] = identifier(c.Schema)
	}
	switch c.Kind {
	case Ledger:
		// A planner that meets an empty or fast-growing table picks a sequential scan, a bitmap of all it has, or a hash join, and
		// keeps it. Every statement of these pools has an index that finds its rows.
		s["enable_seqscan"], s["enable_bitmapscan"], s["enable_hashjoin"], s["enable_mergejoin"] = "off", "off", "off", "off"
		s["enable_memoize"] = "off" // no row is looked up twice
		s["plan_cache_mode"] = "force_generic_plan"
		s["lock_timeout"], s["statement_timeout"], s["idle_in_transaction_session_timeout"] = lockTimeout, statementTimeout, idleTimeout
	case Read:
		if !c.NoPreparedStatements { // else the role carries the settings of both kinds, and those of the ledger matter more
			s["statement_timeout"] = readTimeout
		}
	default:
		return nil, errors.New("postgres: Config.Kind must be Ledger or Read")
	}
	return s, nil
}

var plain = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// identifier quotes a name where it must be, as somebody who writes it by hand would.
func identifier(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return pgx.Identifier{name}.Sanitize()
}

// check connects once, so that a wrong address is found at the start and not by the first caller, and compares the settings
// with what is wanted where a pooler stands between.
func check(ctx context.Context, pool *pgxpool.Pool, c Config, want map[string]string) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("postgres: no connection: %w; check the address, the role and that the server is up", err)
	}
	defer conn.Release()
	var version int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return fmt.Errorf("postgres: ask the server's version: %w", err)
	}
	if version < versionMin {
		return fmt.Errorf("postgres: the server is version %d.%d, and %d or later is needed",
			version/10000, version%10000, versionMin/10000)
	}
	if !c.NoPreparedStatements {
		return nil
	}
	for name, value := range want {
		// set_config tells how the server itself spells the value; it holds for this statement's transaction only.
		var is, wanted string
		err := conn.QueryRow(ctx, "SELECT current_setting($1), set_config($1, $2, true)", name, value).Scan(&is, &wanted)
		if err != nil {
			return fmt.Errorf("postgres: compare the setting %s: %w", name, err)
		}
		if is != wanted {
			return fmt.Errorf("postgres: %s is %q behind the pooler and must be %q: ALTER ROLE %s SET %s = '%s'",
				name, is, wanted, identifier(conn.Conn().Config().User), name, wanted)
		}
	}
	return nil
}

const versionMin = 150000
