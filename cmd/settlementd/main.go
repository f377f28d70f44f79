// Command settlementd reserves a customer's credits, a slot and a slice of a provider's budget before a paid generation, and settles the
// outcome exactly once.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// cli is the command line: one struct a subcommand.
type cli struct {
	ConfigFile string `name:"config" env:"SETTLEMENTD_CONFIG" type:"existingfile" help:"TOML file with settings: global ones at the top, a table for each command." placeholder:"FILE"`
	LogLevel   string `env:"SETTLEMENTD_LOG_LEVEL" enum:"debug,info,warn,error" default:"info" help:"Log from this level on (debug, info, warn, error); debug logs every call."`
	LogFormat  string `env:"SETTLEMENTD_LOG_FORMAT" enum:"text,json" default:"text" help:"Format of the log on standard error (text, json)."`

	Serve        serveCmd        `cmd:"" help:"Serve gRPC until SIGTERM or Ctrl-C."`
	Migrate      migrateCmd      `cmd:"" help:"Bring the database's schema up to date. Safe to start several times at once."`
	Verify       verifyCmd       `cmd:"" help:"Recompute every invariant of the ledger and print what is broken. Exit status 1 when anything is."`
	Dev          devCmd          `cmd:"" help:"Serve on an embedded PostgreSQL that keeps its data, with a demo tenant, until Ctrl-C."`
	Demo         demoCmd         `cmd:"" help:"Play every outcome on a temporary PostgreSQL with a fake provider, and show what became of the holds."`
	Fakeprovider fakeproviderCmd `cmd:"" name:"fakeprovider" help:"Run a generation provider and content checker that cost nothing, for tests."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

// run parses the command line, and returns the exit status: 0, 1 when the command failed, 2 when it was not understood.
func run(ctx context.Context, args []string) int {
	var c cli
	parser, err := kong.New(&c,
		kong.Name("settlementd"),
		kong.Description("Reservation and settlement of paid AI generations on PostgreSQL."),
		kong.UsageOnError(),
		kong.Vars{"version": version()},
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, "settlementd:", err)
		return 2
	}
	command, err := parse(parser, args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "settlementd:", err)
		return 2
	}
	log := c.logger()
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(log); err != nil {
		fmt.Fprintln(os.Stderr, "settlementd:", err)
		return 1
	}
	return 0
}

// logger writes to standard error as the flags say.
func (c *cli) logger() *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // cannot be: the flag has an enum
	}
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}
