package postgrestest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/embedded"
	"github.com/settlementd/settlementd/migrations"
)

const (
	// Service is the role that the migrations create and the service connects as.
	Service = "settlementd_service"

	icuEnv       = "SETTLEMENTD_TEST_ICU"
	template     = "settlementd_template"
	startTimeout = 2 * time.Minute // a busy machine with two cores runs several of these at once
)

// settings keep a server small: several test binaries run at once, each with its own.
var settings = map[string]string{
	"shared_buffers":                  "64MB",
	"max_connections":                 "300",
	"max_wal_senders":                 "0",
	"wal_level":                       "minimal",
	"max_wal_size":                    "512MB",
	"checkpoint_timeout":              "1h",
	"autovacuum_max_workers":          "1",
	"max_parallel_workers_per_gather": "0",
	"jit":                             "off",
	"dynamic_shared_memory_type":      "mmap", // a killed server leaves nothing outside of its folder
}

func icuLocale() string {
	if os.Getenv(icuEnv) == "1" {
		return "en-US"
	}
	return ""
}

// cluster is a server with a migrated template.
type cluster struct {
	server *embedded.Server
	count  atomic.Int64 // of the databases that were made
}

// shared starts the one server of this test binary. Nobody stops it: it ends with the binary, and its folder goes as well.
var shared = sync.OnceValues(func() (*cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	dir, err := reachable(memory())
	if err != nil {
		return nil, err
	}
	server, err := embedded.Start(ctx, embedded.Options{
		Dir: dir, ICULocale: icuLocale(), Settings: settings, FsyncOff: true, Ephemeral: true,
	})
	if err != nil {
		return nil, err
	}
	c := &cluster{server: server}
	return c, c.migrate(ctx)
})

// migrate makes the template. Nobody may connect to it afterwards, since it could not be copied meanwhile.
func (c *cluster) migrate(ctx context.Context) error {
	if err := c.exec(ctx, "CREATE DATABASE "+template); err != nil {
		return err
	}
	if _, err := postgres.Migrate(ctx, c.server.DSN(embedded.Superuser, template), "", migrations.FS); err != nil {
		return err
	}
	return c.exec(ctx, "ALTER DATABASE "+template+" WITH ALLOW_CONNECTIONS false IS_TEMPLATE true")
}

// create copies the template and returns the name of the copy.
func (c *cluster) create(ctx context.Context) (string, error) {
	name := fmt.Sprintf("test_%d", c.count.Add(1))
	return name, c.exec(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY", name, template))
}

func (c *cluster) drop(ctx context.Context, name string) error {
	return c.exec(ctx, fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name))
}

// exec runs one statement as the superuser, on a connection of its own.
func (c *cluster) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, c.server.DSN(embedded.Superuser, "postgres"))
	if err != nil {
		return fmt.Errorf("postgrestest: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("postgrestest: %s: %w", sql, err)
	}
	return nil
}

// literal quotes a value for a statement that takes no parameters.
func literal(v string) string { return "'" + strings.ReplaceAll(v, "'", "''") + "'" }
