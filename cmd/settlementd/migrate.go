package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/migrations"
)

// migrateCmd brings the schema up to date.
type migrateCmd struct {
	Database string `env:"SETTLEMENTD_OWNER_DATABASE" required:"" help:"Connection string of the PostgreSQL database, for the role that owns the schema. A direct connection: no pooler." placeholder:"DSN"`
	Schema   string `env:"SETTLEMENTD_SCHEMA" default:"" help:"Schema to hold the tables; made when it is missing. Empty leaves the role's search_path."`
}

// Run applies what is missing.
func (m *migrateCmd) Run(ctx context.Context, log *slog.Logger) error {
	done, err := postgres.Migrate(ctx, m.Database, m.Schema, migrations.FS)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	log.Info("migrated", "result", done)
	return nil
}
