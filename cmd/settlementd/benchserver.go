package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/bench"
)

// benchServerCmd is a server of a bench run in a process of its own.
type benchServerCmd struct {
	app.Config
}

// Run serves until nobody asks any more.
func (b *benchServerCmd) Run(ctx context.Context, c *cli) error {
	b.Log = c.logger(slog.LevelWarn)
	b.SlowCall = time.Minute // under load a call may be slow without being a fault
	return bench.Serve(ctx, b.Config, os.Stdin, os.Stdout)
}
