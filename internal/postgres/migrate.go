package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Migrated tells what Migrate did.
type Migrated struct {
	From, To int64    // the version before and after
	Applied  []string // the files, in order; empty when there was nothing to do
}

// ErrNewer is returned by Migrate when the database is ahead of the program.
var ErrNewer = errors.New("the database is newer than this program")

// migrationLockTimeout keeps a migration that waits for a table from queueing every other session of the table behind itself.
const migrationLockTimeout = "10s"

// Migrate brings the schema to the version of the files, one transaction a file. Any number of replicas may call it at once:
// one applies, the others wait for it. The schema is made when it is named and missing, and holds goose's version table as
// well, so several schemas of one database stay apart. Schema "" is the role's own first one.
//
// It needs a direct connection (its lock belongs to a session, which a pooler may swap) and the role that owns the tables.
func Migrate(ctx context.Context, dsn, schema string, files fs.FS) (Migrated, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return Migrated{}, fmt.Errorf("postgres: the connection string: %w", err)
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	cfg.RuntimeParams["timezone"] = "UTC"
	cfg.RuntimeParams["lock_timeout"] = migrationLockTimeout
	if schema != "" {
		if err := createSchema(ctx, cfg.Copy(), schema); err != nil {
			return Migrated{}, err
		}
		cfg.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	}
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	return up(ctx, db, files)
}

func up(ctx context.Context, db *sql.DB, files fs.FS) (Migrated, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300), lock.WithUnlockTimeout(1, 60))
	if err != nil {
		return Migrated{}, fmt.Errorf("postgres: migrate: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return Migrated{}, fmt.Errorf("postgres: migrate: read the files: %w", err)
	}
	from, want, err := provider.GetVersions(ctx)
	if err != nil {
		return Migrated{}, fmt.Errorf("postgres: migrate: read the version: %w; the role must own the schema", err)
	}
	if from > want {
		return Migrated{From: from, To: from}, newer(from, want)
	}
	results, err := provider.Up(ctx)
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		results = partial.Applied
	}
	done := Migrated{From: from, To: from}
	for _, r := range results {
		done.Applied = append(done.Applied, r.Source.Path)
		done.To = r.Source.Version
	}
	if err != nil {
		return done, fmt.Errorf("postgres: migrate: %w; the file that failed left nothing behind, so mend the cause and run it again", err)
	}
	if done.To, err = provider.GetDBVersion(ctx); err != nil {
		return done, fmt.Errorf("postgres: migrate: read the version: %w", err)
	}
	if done.To > want { // a newer replica was faster
		return done, newer(done.To, want)
	}
	return done, nil
}

func newer(is, want int64) error {
	return fmt.Errorf("postgres: %w: it is at version %d and this program knows %d; nothing was changed, run the newer program",
		ErrNewer, is, want)
}

// createSchema makes a missing schema. It looks first, because CREATE SCHEMA IF NOT EXISTS wants the privilege even when there
// is nothing to create, and it takes "exists already" from a faster replica.
func createSchema(ctx context.Context, cfg *pgx.ConnConfig, schema string) error {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("postgres: migrate: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var there bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema).Scan(&there)
	if err != nil {
		return fmt.Errorf("postgres: migrate: look for the schema %q: %w", schema, err)
	}
	if there {
		return nil
	}
	_, err = conn.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize())
	if err != nil && SQLState(err) != "42P06" && SQLState(err) != "23505" {
		return fmt.Errorf("postgres: migrate: create the schema %q: %w; create it yourself or let the role create schemas", schema, err)
	}
	return nil
}
