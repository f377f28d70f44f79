package app

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
)

// Config is every setting of a server. The tags are read by the command line; a name there is the name of the flag, the environment
// variable and the key of the configuration file.
type Config struct {
	Database     string `env:"SETTLEMENTD_DATABASE" help:"Connection string of the PostgreSQL database, for the role settlementd_service." placeholder:"DSN"`
	Schema       string `env:"SETTLEMENTD_SCHEMA" default:"" help:"Schema that holds the tables. Empty leaves the role's search_path."`
	PoolSize     int    `env:"SETTLEMENTD_POOL_SIZE" default:"8" help:"Connections for the ledger's transactions (1 to 1000)."`
	ReadPoolSize int    `env:"SETTLEMENTD_READ_POOL_SIZE" default:"4" help:"Connections for reads, lists and the sweep's look-ups (1 to 1000)."`
	Prepared     bool   `env:"SETTLEMENTD_PREPARED" default:"true" negatable:"" help:"Prepare statements. Turn it off behind a pooler that hands connections out per transaction and does not know prepared statements."`

	BatchMax      int `env:"SETTLEMENTD_BATCH_MAX" default:"128" help:"Calls that may share a transaction (1 to 1000)."`
	TenantBatches int `env:"SETTLEMENTD_TENANT_BATCHES" default:"3" help:"Batches of a tenant that may be in the database at a time, where there are calls enough to fill them (1 to 1000)."`
	QueueMax      int `env:"SETTLEMENTD_QUEUE_MAX" default:"4096" help:"Calls of a tenant that may wait; more are answered RESOURCE_EXHAUSTED, and so is a batch that has no room (1 to 1000000; 1000 for a full batch)."`

	Alone bool `env:"SETTLEMENTD_ALONE" hidden:"" help:"Give every call a transaction of its own, to compare with."`

	DefaultTTL time.Duration `env:"SETTLEMENTD_DEFAULT_TTL" default:"15m" help:"How long a reservation lives that asks for no ttl (1s to max-age)."`
	MaxAge     time.Duration `env:"SETTLEMENTD_MAX_AGE" default:"168h" help:"The age that no extension can go beyond (1s to 8760h)."`

	SweepInterval time.Duration `env:"SETTLEMENTD_SWEEP_INTERVAL" default:"1s" help:"How often overdue reservations are looked for (10ms to 1h)."`

	ArchiveAfter    time.Duration `env:"SETTLEMENTD_ARCHIVE_AFTER" default:"0s" help:"Archive reservations that are over for longer than this; 0s: never (0s to 87600h). Set it when every server of the database knows the archive."`
	ArchiveInterval time.Duration `env:"SETTLEMENTD_ARCHIVE_INTERVAL" default:"1m" help:"How often reservations to archive are looked for (10ms to 24h)."`

	JobTargetsMax         int  `env:"SETTLEMENTD_JOB_TARGETS_MAX" default:"64" help:"Targets that a reconciliation job may have (1 to 10000)."`
	JobChunkMax           int  `env:"SETTLEMENTD_JOB_CHUNK_MAX" default:"10" help:"Targets that a job may change in one transaction (1 to 1000)."`
	RequireSecondApprover bool `env:"SETTLEMENTD_REQUIRE_SECOND_APPROVER" help:"Refuse the approval of a job by who registered it."`

	CallTimeout     time.Duration `env:"SETTLEMENTD_CALL_TIMEOUT" default:"10s" help:"Deadline of a call that brings none (10ms to 1h)."`
	SlowCall        time.Duration `env:"SETTLEMENTD_SLOW_CALL" default:"500ms" help:"Calls that take longer are logged (1ms to 1h)."`
	ShutdownTimeout time.Duration `env:"SETTLEMENTD_SHUTDOWN_TIMEOUT" default:"10s" help:"How long calls under way may take after SIGTERM (0s to 10m)."`
	MessageBytesMax int           `env:"SETTLEMENTD_MESSAGE_BYTES_MAX" default:"4194304" help:"Largest message that is read (1024 to 268435456)."`

	Log   *slog.Logger             `kong:"-"`
	Fault func(point string) error `kong:"-"` // called at the points of a job's chunk; nil outside of tests
}

// Validate names the first setting that is out of its bounds.
func (c *Config) Validate() error {
	whole := []struct {
		name             string
		value, low, high int64
	}{
		{"pool-size", int64(c.PoolSize), 1, 1000},
		{"read-pool-size", int64(c.ReadPoolSize), 1, 1000},
		{"batch-max", int64(c.BatchMax), 1, 1000},
		{"tenant-batches", int64(c.TenantBatches), 1, 1000},
		{"queue-max", int64(c.QueueMax), 1, 1_000_000},
		{"job-targets-max", int64(c.JobTargetsMax), 1, ledger.TargetsCeiling},
		{"job-chunk-max", int64(c.JobChunkMax), 1, ledger.ChunkCeiling},
		{"message-bytes-max", int64(c.MessageBytesMax), 1024, 1 << 28},
	}
	for _, s := range whole {
		if s.value < s.low || s.value > s.high {
			return fmt.Errorf("%s: must be from %d to %d, not %d", s.name, s.low, s.high, s.value)
		}
	}
	spans := []struct {
		name             string
		value, low, high time.Duration
	}{
		{"max-age", c.MaxAge, time.Second, 8760 * time.Hour},
		{"default-ttl", c.DefaultTTL, time.Second, c.MaxAge},
		{"sweep-interval", c.SweepInterval, 10 * time.Millisecond, time.Hour},
		{"archive-after", c.ArchiveAfter, 0, 87_600 * time.Hour},
		{"archive-interval", c.ArchiveInterval, 10 * time.Millisecond, 24 * time.Hour},
		{"call-timeout", c.CallTimeout, 10 * time.Millisecond, time.Hour},
		{"slow-call", c.SlowCall, time.Millisecond, time.Hour},
		{"shutdown-timeout", c.ShutdownTimeout, 0, 10 * time.Minute},
	}
	for _, s := range spans {
		if s.value < s.low || s.value > s.high {
			return fmt.Errorf("%s: must be from %s to %s, not %s", s.name, s.low, s.high, s.value)
		}
	}
	if c.Database == "" {
		return fmt.Errorf("database: is required, a connection string like \"host=/run/postgresql dbname=settlementd user=settlementd_service\"")
	}
	return nil
}
