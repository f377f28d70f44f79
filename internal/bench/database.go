package bench

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// database is the run's own connection to PostgreSQL, as the role that owns everything.
type database struct {
	conn *pgx.Conn
	pid  int // of PostgreSQL's first process
}

// openDatabase connects; the caller closes.
func openDatabase(ctx context.Context, dsn string, pid int) (*database, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return &database{conn, pid}, nil
}

func (d *database) close(ctx context.Context) { _ = d.conn.Close(context.WithoutCancel(ctx)) }

const (
	granted     = 1_000_000_000
	budgetLimit = 1_000_000_000_000_000
)

// The rows that calls need, as set-up calls would have left them. What is there stays as it is.
const (
	makeTenants = `INSERT INTO tenants SELECT 't' || t, now() FROM generate_series(0, $1::int - 1) t ON CONFLICT DO NOTHING`

	makeProviders = `
		INSERT INTO providers (tenant_id, provider_id, currency, max_in_flight, in_flight, uncertain_in_flight, enabled, permit_seconds,
			not_received_after_seconds, idempotency_key_seconds, output_check_required, output_rejection_captures, budget_period, time_zone,
			budget_limit_micros, created_at)
		SELECT 't' || t, 'p' || p, 'USD', 0, 0, 0, true, 30, 60, 0, false, false, 'MONTH', 'UTC', $3::bigint, now()
		FROM generate_series(0, $1::int - 1) t, generate_series(0, $2::int - 1) p
		ON CONFLICT DO NOTHING`

	makeAccounts = `
		WITH made AS (
			INSERT INTO accounts (tenant_id, account_id, credits_available, credits_held, free_attempts_available, free_attempts_held,
				slot_limit, slots_in_use, suspended, created_at)
			SELECT 't' || t, 'a' || a, $3::bigint, 0, 0, 0, 1000000, 0, false, now()
			FROM generate_series(0, $1::int - 1) t, generate_series(0, $2::int - 1) a
			ON CONFLICT DO NOTHING RETURNING tenant_id, account_id
		)
		INSERT INTO entries (tenant_id, event_key, event_type, account_id, unit, available_before, available_after, held_before, held_after,
			budget_held_change, budget_spent_change, detail, created_at)
		SELECT tenant_id, 'grant ' || account_id || ' credits bench', 'CREDITS_GRANTED', account_id, 'CREDITS', 0, $3::bigint, 0, 0, 0, 0, NULL, now()
		FROM made`
)

// prepare makes the tenants, accounts and providers that the points need.
func (d *database) prepare(ctx context.Context, specs []Spec) error {
	made := map[[3]int]bool{}
	for _, s := range specs {
		rows := [3]int{s.Tenants, s.Budgets, s.accountsOfTenant()}
		if made[rows] {
			continue
		}
		made[rows] = true
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{makeTenants, []any{s.Tenants}},
			{makeProviders, []any{s.Tenants, s.Budgets, budgetLimit}},
			{makeAccounts, []any{s.Tenants, s.accountsOfTenant(), granted}},
		} {
			if _, err := d.conn.Exec(ctx, step.sql, step.args...); err != nil {
				return fmt.Errorf("make what calls need: %w", err)
			}
		}
	}
	return nil
}

// settle leaves nothing to do that would disturb the first point.
func (d *database) settle(ctx context.Context) error {
	for _, sql := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} {
		if _, err := d.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// counters reads how many transactions have had an id, which everything that writes gets, and how much was written to the log. The
// cumulative statistics would say it a second late.
func (d *database) counters(ctx context.Context) (transactions, walBytes int64, err error) {
	err = d.conn.QueryRow(ctx, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`).
		Scan(&transactions, &walBytes)
	if err != nil {
		return 0, 0, fmt.Errorf("database: %w", err)
	}
	return transactions, walBytes, nil
}
