package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/app"
)

// serveCmd serves until it is told to stop.
type serveCmd struct {
	Listen string `env:"SETTLEMENTD_LISTEN" default:"127.0.0.1:7420" help:"Address to listen on."`
	app.Config
}

// Run serves calls until ctx ends.
func (s *serveCmd) Run(ctx context.Context, log *slog.Logger) error {
	s.Log = log
	if _, err := pgx.ParseConfig(s.Database); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return app.Run(ctx, s.Config, l)
}
