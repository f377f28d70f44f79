package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/postgres/embedded"
)

// place is where a service on an embedded PostgreSQL can be reached.
type place struct {
	address  string // of the service
	database string // for the role that the service runs as
	owner    string // the same, for the role that owns the tables
}

// serveEmbedded runs the service on an embedded PostgreSQL while use runs, and stops both when it returns. The context of use ends when
// either of them does.
func serveEmbedded(
	ctx context.Context, options embedded.Options, listen string, log *slog.Logger, change func(*app.Config), use func(context.Context, place) error,
) (err error) {
	config, err := defaultConfig()
	if err != nil {
		return err
	}
	server, err := startEmbedded(ctx, options)
	if err != nil {
		return fmt.Errorf("data-dir %s: %w", options.Dir, err)
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	at := place{database: server.DSN(serviceRole, embeddedDatabase), owner: server.DSN(embedded.Superuser, embeddedDatabase)}
	config.Log, config.Database = log, at.database
	change(&config)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	at.address = l.Addr().String()

	using, cancel := context.WithCancelCause(ctx)
	serving, stop := context.WithCancel(using)
	defer stop()
	served := make(chan error, 1)
	go func() {
		err := app.Run(serving, config, l)
		cancel(errServiceEnded)
		served <- err
	}()
	go func() {
		select {
		case <-server.Done():
			cancel(fmt.Errorf("PostgreSQL has ended: see %s", server.LogFile()))
		case <-using.Done():
		}
	}()
	used := use(using, at)
	endedFirst := errors.Is(context.Cause(using), errServiceEnded)
	stop()
	if err := <-served; err != nil && (endedFirst || used == nil) {
		return err
	}
	return used
}

var errServiceEnded = errors.New("the service has ended")
