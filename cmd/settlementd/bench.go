package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/jackc/pgx/v5"

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

	PlantFailure bool `hidden:"" help:"Only for tests of the bench: move a balance behind the ledger's back before it is verified."`
}

// Run measures, verifies and prints.
func (b *benchCmd) Run(ctx context.Context) (err error) {
	chart, err := b.chartFile() // before the run, which would be lost without it
	if err != nil {
		return err
	}
	defer chart.drop()
	dir, err := benchFolder()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	settings := map[string]string{"shared_buffers": "1GB", "max_wal_size": "8GB"}
	maps.Copy(settings, b.Postgres)
	server, err := embedded.Start(ctx, embedded.Options{Dir: dir, Ephemeral: true, Settings: settings})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	progress := benchProgress{os.Stderr, isTerminal(os.Stderr)}
	report, err := bench.Run(ctx, bench.Config{
		Options: b.Options, PostgresPID: server.PID(), Verify: b.verify, Progress: progress.tell, Log: os.Stderr,
		Server: func(at bench.Place, alone bool) []string { return b.program(program, at.Service, alone) },
		Database: func(ctx context.Context, number int) (bench.Place, error) {
			name := fmt.Sprintf("%s%d", embeddedDatabase, number)
			return bench.Place{Owner: server.DSN(embedded.Superuser, name), Service: server.DSN(serviceRole, name)}, prepareEmbedded(ctx, server, name)
		},
	})
	progress.end()
	if report == nil {
		return err
	}
	return errors.Join(err, b.draw(report, chart), b.print(report))
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
	if b.Output == "json" {
		return report.WriteJSON(os.Stdout)
	}
	_, err := fmt.Println(report.Table())
	return err
}

// chartFile makes the file of the chart, or opens nothing's. The chart of an earlier run stays until there is a new one.
func (b *benchCmd) chartFile() (*newFile, error) {
	name := b.Chart
	if name == "" {
		name = os.DevNull
	}
	f, err := makeFile(name)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	return f, nil
}

func (b *benchCmd) draw(report *bench.Report, chart *newFile) error {
	if b.Chart == "" {
		return nil
	}
	if err := report.Chart(chart); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	return chart.keep()
}

// verify verifies every tenant of a database, and tells what is broken.
func (b *benchCmd) verify(ctx context.Context, at bench.Place) ([]string, error) {
	if b.PlantFailure {
		if err := plantFailure(ctx, at.Owner); err != nil {
			return nil, err
		}
	}
	pool, err := postgres.Open(ctx, postgres.Config{DSN: at.Service, Kind: postgres.Read, MaxConns: 1, ApplicationName: "settlementd bench"})
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	defer pool.Close()
	report, err := verifyTenants(ctx, pool, nil)
	if err != nil {
		return nil, err
	}
	var findings []string
	for _, f := range report.Findings {
		findings = append(findings, fmt.Sprintf("tenant %s, %s: %s: want %s, is %s", f.Tenant, f.Invariant, f.Where, f.Expected, f.Actual))
	}
	return findings, nil
}

func plantFailure(ctx context.Context, database string) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, "UPDATE accounts SET credits_available = credits_available + 1 WHERE tenant_id = 't0' AND account_id = 'a0'")
	return err
}

// benchProgress tells how far a run is: in one line that changes on a terminal, else in a line for each thing done.
type benchProgress struct {
	to       *os.File
	terminal bool
}

func (p benchProgress) tell(text string) {
	if p.terminal {
		text = "\r\x1b[K" + text
	} else {
		text += "\n"
	}
	_, _ = p.to.WriteString(text)
}

func (p benchProgress) end() {
	if p.terminal {
		_, _ = p.to.WriteString("\r\x1b[K")
	}
}
