package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres"
)

// verifyCmd recomputes the invariants.
type verifyCmd struct {
	Database string   `env:"SETTLEMENTD_DATABASE" required:"" help:"Connection string of the PostgreSQL database, for the role settlementd_service or the one that owns the schema." placeholder:"DSN"`
	Schema   string   `env:"SETTLEMENTD_SCHEMA" default:"" help:"Schema that holds the tables. Empty leaves the role's search_path."`
	Tenant   []string `help:"Verify this tenant only; may be given several times. Without it all tenants, each as of one moment." placeholder:"ID"`
	Output   string   `enum:"table,json" default:"table" help:"How to print what was found (table, json)."`
}

// Run prints every invariant and what is broken, and fails when anything is.
func (v *verifyCmd) Run(ctx context.Context) error {
	pool, err := postgres.Open(ctx, postgres.Config{
		DSN: v.Database, Schema: v.Schema, Kind: postgres.Read, MaxConns: 1, ApplicationName: "settlementd verify",
	})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer pool.Close()
	report, err := verifyTenants(ctx, pool, v.Tenant)
	if err != nil {
		return err
	}
	if v.Output == "json" {
		err = report.writeJSON(os.Stdout)
	} else {
		_, err = fmt.Println(report.table())
	}
	if err == nil && !report.Good {
		return errShown
	}
	return err
}

// verifyTenants verifies the named tenants, or all of them, one after the other.
func verifyTenants(ctx context.Context, pool *pgxpool.Pool, tenants []string) (verifyReport, error) {
	if len(tenants) == 0 {
		all, err := ledgerdb.NewReader(pool).Tenants(ctx)
		if err != nil {
			return verifyReport{}, err
		}
		for _, t := range all {
			tenants = append(tenants, string(t))
		}
	}
	report := newVerifyReport(tenants, ledgerdb.Invariants())
	for _, tenant := range tenants {
		findings, err := ledgerdb.Verify(ctx, pool, ledger.TenantID(tenant))
		if err != nil {
			return report, fmt.Errorf("verify tenant %s: %w", tenant, err)
		}
		for _, f := range findings {
			report.add(tenant, f)
		}
	}
	return report, nil
}
