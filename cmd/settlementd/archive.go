package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/retention"
)

// archiveCmd archives once what a server archives as it goes.
type archiveCmd struct {
	Database  string        `env:"SETTLEMENTD_DATABASE" required:"" help:"Connection string of the PostgreSQL database, for the role settlementd_service." placeholder:"DSN"`
	Schema    string        `env:"SETTLEMENTD_SCHEMA" default:"" help:"Schema that holds the tables. Empty leaves the role's search_path."`
	OlderThan time.Duration `required:"" help:"Archive what was settled longer ago than this, like 2160h." placeholder:"DURATION"`
	Chunk     int           `default:"500" help:"Reservations that one transaction looks at (1 to 5000)." placeholder:"N"`
	Tenant    []string      `help:"Archive for this tenant only; may be given several times. Without it for all tenants." placeholder:"ID"`
	Output    string        `enum:"table,json" default:"table" help:"How to print what was done (table, json)."`
}

// Validate implements kong's interface.
func (a *archiveCmd) Validate() error {
	switch {
	case a.OlderThan < 0:
		return fmt.Errorf("older-than: must not be negative")
	case a.Chunk < 1 || a.Chunk > retention.ChunkMax:
		return fmt.Errorf("chunk: must be from 1 to %d, not %d", retention.ChunkMax, a.Chunk)
	}
	return nil
}

// Run walks through the reservations of each tenant, chunk by chunk.
func (a *archiveCmd) Run(ctx context.Context) error {
	pool, err := postgres.Open(ctx, postgres.Config{
		DSN: a.Database, Schema: a.Schema, Kind: postgres.Ledger, MaxConns: 1, ApplicationName: "settlementd archive",
	})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer pool.Close()
	reader, store := ledgerdb.NewReader(pool), ledgerdb.New(pool)
	tenants, err := a.tenants(ctx, reader)
	if err != nil {
		return err
	}
	report := archiveReport{Tenants: []archivedTenant{}}
	var failures []error
	for _, t := range tenants {
		once := retention.Once{Tenant: t, OlderThan: a.OlderThan, Chunk: a.Chunk}
		count, err := once.Run(ctx, store, func(c retention.Count) { a.show(t, c) })
		report.add(t, count)
		for _, f := range count.Failures {
			failures = append(failures, f)
		}
		if err != nil {
			_ = report.print(os.Stdout, a.Output)
			return errors.Join(append(failures, fmt.Errorf("archive tenant %s: %w: what is printed is done; start again for the rest", t, err))...)
		}
	}
	return errors.Join(append(failures, report.print(os.Stdout, a.Output))...)
}

// tenants are those that are named, which must exist, or all.
func (a *archiveCmd) tenants(ctx context.Context, reader *ledgerdb.Reader) ([]ledger.TenantID, error) {
	if len(a.Tenant) == 0 {
		return reader.Tenants(ctx)
	}
	var tenants []ledger.TenantID
	for _, t := range a.Tenant {
		if err := reader.RequireTenant(ctx, ledger.TenantID(t)); err != nil {
			return nil, err
		}
		tenants = append(tenants, ledger.TenantID(t))
	}
	return tenants, nil
}

// show tells somebody who watches how far it has come.
func (a *archiveCmd) show(tenant ledger.TenantID, c retention.Count) {
	if isTerminal(os.Stderr) {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s: looked at %d, archived %d", tenant, c.Looked, c.Archived)
	}
}

// archiveReport is what was done.
type archiveReport struct {
	Archived int              `json:"archived"`
	Tenants  []archivedTenant `json:"tenants"`
}

// archivedTenant is what was done for a tenant.
type archivedTenant struct {
	Tenant   string `json:"tenant"`
	LookedAt int    `json:"looked_at"` // all that are old enough, archived or not
	Archived int    `json:"archived"`
	Chunks   int    `json:"chunks"`
}

func (r *archiveReport) add(tenant ledger.TenantID, c retention.Count) {
	r.Archived += c.Archived
	r.Tenants = append(r.Tenants, archivedTenant{string(tenant), c.Looked, c.Archived, c.Chunks})
}

func (r *archiveReport) print(w io.Writer, output string) error {
	if isTerminal(os.Stderr) {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	if output == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	t := newTable("tenant", "looked at", "archived", "chunks")
	for _, a := range r.Tenants {
		t.AppendRow(table.Row{a.Tenant, a.LookedAt, a.Archived, a.Chunks})
	}
	_, err := fmt.Fprintf(w, "%s\n%s archived.\n", t.Render(), some(r.Archived, "reservation"))
	return err
}
