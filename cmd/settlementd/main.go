// Command settlementd reserves a customer's credits, a slot and a slice of a provider's budget before a paid generation, and settles the
// outcome exactly once.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	reconciliation "github.com/settlementd/settlementd/internal/reconcile/command"
)

// cli is the command line: one struct a subcommand.
type cli struct {
	ConfigFile string           `name:"config" env:"SETTLEMENTD_CONFIG" type:"existingfile" help:"TOML file with settings: log-level and log-format at the top, a table for each command. Flags and the environment win over it." placeholder:"FILE"`
	LogLevel   string           `env:"SETTLEMENTD_LOG_LEVEL" enum:"debug,info,warn,error" default:"info" help:"Log from this level on (debug, info, warn, error); debug logs every call."`
	LogFormat  string           `env:"SETTLEMENTD_LOG_FORMAT" enum:"text,json" default:"text" help:"Format of the log on standard error (text, json)."`
	Version    kong.VersionFlag `help:"Print the version and quit."`

	Serve        serveCmd        `cmd:"" help:"Serve gRPC until SIGTERM or Ctrl-C."`
	Migrate      migrateCmd      `cmd:"" help:"Bring the database's schema up to date. Safe to start several times at once."`
	Verify       verifyCmd       `cmd:"" help:"Recompute every invariant of the ledger and print what is broken. Exit status 1 when anything is."`
	Archive      archiveCmd      `cmd:"" help:"Move reservations that are over, and have been for long, into the archive. A server does so by itself when archive-after is set."`
	Reconcile    reconcileCmd    `cmd:"" help:"Plan, approve and run reconciliation jobs, import statements of providers, and resolve exceptions, on a running server."`
	Dev          devCmd          `cmd:"" help:"Serve on an embedded PostgreSQL that keeps its data, with a demo tenant, until Ctrl-C."`
	Demo         demoCmd         `cmd:"" help:"Play every outcome on a temporary PostgreSQL with a fake provider, and show what became of the holds."`
	Fakeprovider fakeproviderCmd `cmd:"" name:"fakeprovider" help:"Run a generation provider and content checker that cost nothing, for tests."`
	Bench        benchCmd        `cmd:"" help:"Measure the service on a temporary PostgreSQL: throughput, latency, and what a call costs client, server and database."`
	DemoWorker   demoWorkerCmd   `cmd:"" hidden:""`
	DemoDrainer  demoDrainerCmd  `cmd:"" hidden:""`
	BenchServer  benchServerCmd  `cmd:"" hidden:""`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:]))
}

// The exit statuses of the program.
const (
	statusFailed      = 1   // the command failed, or found something broken
	statusUsage       = 2   // the command line, the environment, the configuration file or an input file was not understood, and nothing was done
	statusBadLines    = 3   // a statement was imported, but some of its lines are bad
	statusInterrupted = 130 // SIGINT or SIGTERM came before the command was done
)

// errShown tells that the command has failed and has said why.
var errShown = errors.New("shown already")

// run parses the command line, runs the command and returns the exit status.
func run(ctx context.Context, args []string) int {
	var c cli
	command, err := c.parse(args)
	if err != nil {
		return complain(err, statusUsage)
	}
	plainUnlessTerminal(os.Stdout)
	command.BindTo(ctx, (*context.Context)(nil))
	err = command.Run(c.logger(slog.LevelDebug), &c)
	_, badLines := errors.AsType[*reconciliation.BadLinesError](err)
	_, misused := errors.AsType[*reconciliation.UsageError](err)
	switch {
	case err == nil:
		return 0
	case misused:
		return complain(err, statusUsage)
	case errors.Is(err, errShown):
		return statusFailed
	case ctx.Err() != nil:
		return interrupted(ctx, err, command.Selected().Name)
	case badLines:
		return complain(err, statusBadLines)
	default:
		return complain(err, statusFailed)
	}
}

// interrupted is the status of a command that was interrupted and ended with an error. To some that is their end.
func interrupted(ctx context.Context, err error, command string) int {
	ofSignal := errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)) || status.Code(err) == codes.Canceled
	endless := slices.Contains([]string{"serve", "dev", "fakeprovider"}, command)
	switch {
	case endless && ofSignal: // it had not begun to serve
		return 0
	case endless:
		return complain(err, statusFailed)
	case ofSignal:
		return complain(context.Cause(ctx), statusInterrupted)
	default:
		return complain(err, statusInterrupted)
	}
}

func complain(err error, status int) int {
	fmt.Fprintln(os.Stderr, "settlementd:", err)
	return status
}

// logger writes to standard error as the flags say, and nothing below a level.
func (c *cli) logger(least slog.Level) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // cannot be: the flag has an enum
	}
	options := &slog.HandlerOptions{Level: max(level, least)}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}
