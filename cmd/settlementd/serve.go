package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/settlementd/settlementd/internal/app"
)

// serveCmd serves until it is told to stop.
type serveCmd struct {
	Listen string `env:"SETTLEMENTD_LISTEN" default:"127.0.0.1:7420" help:"Address to listen on."`
	app.Config
}

// fault is called at the points of a job's chunk. It is set in programs that are built to be killed there.
var fault func(point string) error

// Run serves calls until ctx ends.
func (s *serveCmd) Run(ctx context.Context, log *slog.Logger) error {
	s.Log, s.Fault = log, fault
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	err = app.Run(ctx, s.Config, l)
	_ = l.Close() // by now, unless the service never served
	_, unreadable := errors.AsType[*pgconn.ParseConfigError](err)
	if _, unreachable := errors.AsType[*pgconn.ConnectError](err); unreachable || unreadable {
		return fmt.Errorf("database: %w", err)
	}
	return err
}
