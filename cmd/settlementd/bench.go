package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/settlementd/settlementd/internal/bench"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/embedded"
)

// benchCmd measures the service on an embedded PostgreSQL and leaves nothing behind.
type benchCmd struct {
	bench.Options
	Output   string            `enum:"table,json" default:"table" help:"How to print the report (table, json)."`
	Chart    string            `type:"path" help:"Also draw throughput and p99 over the callers, as this SVG file." placeholder:"FILE"`
	Server   map[string]string `help:"Settings of the server of all modes but single, as pool-size=16." placeholder:"SETTING=VALUE"`
	Postgres map[string]string `help:"Parameters of PostgreSQL, besides shared_buffers=1GB;max_wal_size=8GB." placeholder:"NAME=VALUE"`
}

// Run measures, verifies and prints.
func (b *benchCmd) Run(ctx context.Context, c *cli) (err error) {
	dir, err := benchFolder()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	settings := map[string]string{"shared_buffers": "1GB", "max_wal_size": "8GB"}
	maps.Copy(settings, b.Postgres)
	server, err := startEmbedded(ctx, embedded.Options{Dir: dir, Ephemeral: true, Settings: settings})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	progress := newBenchProgress(os.Stderr)
	report, err := bench.Run(ctx, bench.Config{
		Options: b.Options, Owner: server.DSN(embedded.Superuser, embeddedDatabase), PostgresPID: server.PID(),
		Server:   func(alone bool) []string { return b.program(program, server.DSN(serviceRole, embeddedDatabase), alone) },
		Progress: progress.tell, Log: os.Stderr,
		Verify: func(ctx context.Context) error {
			return verifyAfterBench(ctx, server.DSN(serviceRole, embeddedDatabase))
		},
	})
	progress.end()
	if report == nil {
		return err
	}
	return errors.Join(err, b.print(report))
}

// benchFolder makes a folder that PostgreSQL's user can enter. It is on a disk where there is a choice: in memory a commit costs nothing.
func benchFolder() (string, error) {
	within := os.TempDir()
	if bench.InMemory(within) {
		within = "/var/tmp"
	}
	dir, err := os.MkdirTemp(within, "settlementd-bench-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

// program is the command line of a server. The plain way is the same for whatever it is compared with.
func (b *benchCmd) program(name, database string, alone bool) []string {
	args := []string{name, "bench-server", "--database=" + database}
	if alone {
		return append(args, "--alone", "--pool-size=16")
	}
	for _, setting := range slices.Sorted(maps.Keys(b.Server)) {
		args = append(args, "--"+setting+"="+b.Server[setting])
	}
	return args
}

func (b *benchCmd) print(report *bench.Report) error {
	if err := b.draw(report); err != nil {
		return err
	}
	if b.Output == "json" {
		return report.WriteJSON(os.Stdout)
	}
	_, err := fmt.Println(report.Table())
	return err
}

func (b *benchCmd) draw(report *bench.Report) (err error) {
	if b.Chart == "" {
		return nil
	}
	f, err := os.Create(b.Chart)
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return report.Chart(f)
}

// verifyAfterBench verifies every tenant.
func verifyAfterBench(ctx context.Context, database string) error {
	pool, err := postgres.Open(ctx, postgres.Config{DSN: database, Kind: postgres.Read, MaxConns: 2, ApplicationName: "settlementd bench"})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer pool.Close()
	report, err := verifyTenants(ctx, pool, nil)
	if err != nil || report.Good {
		return err
	}
	broken := &bench.BrokenError{}
	for _, f := range report.Findings {
		broken.Findings = append(broken.Findings, fmt.Sprintf("%s: %s of tenant %s is %s instead of %s", f.Invariant, f.Where, f.Tenant, f.Actual, f.Expected))
	}
	return broken
}

// benchProgress tells how far a run is: in one line that changes on a terminal, else in a line for each slice.
type benchProgress struct {
	to       *os.File
	terminal bool
}

func newBenchProgress(to *os.File) *benchProgress { return &benchProgress{to, isTerminal(to)} }

func (p *benchProgress) tell(done, of int, s bench.Spec, callsPerSecond float64) {
	begin, end := "", "\n"
	if p.terminal {
		begin, end = "\r\x1b[K", ""
	}
	_, _ = fmt.Fprintf(p.to, "%s%d of %d: %s: %.0f calls/s%s", begin, done, of, s.Title(), callsPerSecond, end)
}

func (p *benchProgress) end() {
	if p.terminal {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K")
	}
}
