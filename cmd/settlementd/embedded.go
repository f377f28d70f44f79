package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/embedded"
	"github.com/settlementd/settlementd/migrations"
)

const (
	embeddedDatabase = "settlementd"
	serviceRole      = "settlementd_service"
)

// startEmbedded runs a private PostgreSQL with a migrated database.
func startEmbedded(ctx context.Context, options embedded.Options) (*embedded.Server, error) {
	server, err := embedded.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := prepareEmbedded(ctx, server, embeddedDatabase); err != nil {
		_ = server.Stop()
		return nil, err
	}
	return server, nil
}

// prepareEmbedded makes a database where there is none, and migrates it.
func prepareEmbedded(ctx context.Context, server *embedded.Server, database string) error {
	conn, err := pgx.Connect(ctx, server.DSN(embedded.Superuser, "postgres"))
	if err != nil {
		return fmt.Errorf("embedded PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database).Scan(&there); err != nil {
		return fmt.Errorf("embedded PostgreSQL: %w", err)
	}
	if !there {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+database); err != nil {
			return fmt.Errorf("embedded PostgreSQL: %w", err)
		}
	}
	_, err = postgres.Migrate(ctx, server.DSN(embedded.Superuser, database), "", migrations.FS)
	return err
}
