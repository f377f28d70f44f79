package bench

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// growChunk is how many reservations are made in one transaction.
const growChunk = 100_000

// grow makes reservations of the first tenant: paid for, settled, and spread over its accounts and the time since the budget's period began,
// as if calls had made them. It is for a database that nobody calls meanwhile.
func (d *database) grow(ctx context.Context, wanted int64, accounts int, names ids) error {
	for from := int64(0); from < wanted; from += growChunk {
		if err := d.growBy(ctx, from, min(from+growChunk, wanted), wanted, accounts, names); err != nil {
			return fmt.Errorf("make reservations: %w", err)
		}
	}
	return nil
}

// growBy makes those with the numbers from one to before another, with all that belongs to them. The owner leaves out the look-ups of
// foreign keys.
func (d *database) growBy(ctx context.Context, from, to, wanted int64, accounts int, names ids) error {
	return pgx.BeginFunc(ctx, d.conn, func(tx pgx.Tx) error {
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{`SET LOCAL session_replication_role = replica`, nil},
			{growBudget, []any{int64(budgetLimit), costMicros * (to - from)}},
			{growNames, []any{from, to, wanted, accounts, names.series, names.random}},
			{growReservations, nil},
			{growLines, nil},
			{growEntries, nil},
			{growAccounts, nil},
			{`DROP TABLE grown`, nil},
		} {
			if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	growBudget = `
		INSERT INTO budgets SELECT 't0', 'p0', settlement_period_start('MONTH', 'UTC', now()), $1, 0, $2
		ON CONFLICT (tenant_id, provider_id, period_start) DO UPDATE SET spent_micros = budgets.spent_micros + excluded.spent_micros`

	// nth counts the reservations of an account.
	growNames = `
		CREATE TEMPORARY TABLE grown AS
		SELECT n, (n - $1::bigint) / $4::bigint AS nth, 'a' || (n - $1) % $4 AS account_id, period_start,
			CASE WHEN $6::boolean THEN md5(name) ELSE name END AS reservation_id,
			period_start + (now() - period_start) * (n::float8 / $3::bigint) AS at
		FROM (
			SELECT n, format('r%s-%s', lpad($5::int::text, 4, '0'), lpad(n::text, 10, '0')) AS name,
				settlement_period_start('MONTH', 'UTC', now()) AS period_start
			FROM generate_series($1::bigint, $2::bigint - 1) n
		) numbered`

	growReservations = `
		INSERT INTO reservations (tenant_id, reservation_id, account_id, provider_id, funding_kind, credits_asked, budget_micros, currency,
			submission_key, taken_unit, taken_amount, period_start, permit_seconds, not_received_after_seconds, idempotency_key_seconds,
			max_age_seconds, output_check_required, output_rejection_captures, created_at, state, revision, deadline, deadline_max,
			credit_state, credits_captured, slot_state, budget_state, outcome_kind, outcome_observer, settled_at, updated_at)
		SELECT 't0', reservation_id, account_id, 'p0', 'CREDITS', 1, 10, 'USD',
			reservation_id || '/1', 'CREDITS', 1, period_start, 30, 60, 0,
			604800, false, false, at, 'COMPLETED', 1, at + interval '15 minutes', at + interval '7 days',
			'CAPTURED', 1, 'RELEASED', 'ENDED', 'COMPLETED', 'POLL', at + interval '1 second', at + interval '1 second'
		FROM grown ORDER BY n`

	growLines = `
		INSERT INTO lines (tenant_id, request_key, reservation_id, provider_id, kind, permit_token, permitted_at, knowledge, permit_expires_at,
			cost_micros, cost_adjustment_micros, updated_at)
		SELECT 't0', reservation_id || '/1', reservation_id, 'p0', 'GENERATION', 't-' || reservation_id, at, 'SUCCEEDED', at + interval '30 seconds',
			7, 0, at + interval '1 second'
		FROM grown ORDER BY n`

	growEntries = `
		INSERT INTO entries (tenant_id, event_key, event_type, account_id, reservation_id, revision, unit, available_before, available_after,
			held_before, held_after, budget_held_change, budget_spent_change, detail, created_at)
		SELECT 't0', e.event || ' ' || g.reservation_id, e.type, account_id, g.reservation_id, e.revision, 'CREDITS',
			credits_available - nth - e.revision, credits_available - nth - 1,
			credits_held + e.revision, credits_held + 1 - e.revision, e.held, e.spent, e.detail || jsonb_build_object('request_key', g.reservation_id || '/1'),
			at + e.revision * interval '1 second'
		FROM grown g
		JOIN accounts a USING (account_id)
		CROSS JOIN (VALUES
			('reserve', 'RESERVED', 0, 10, 0, '{"knowledge": "PERMITTED"}'::jsonb),
			('end', 'COMPLETED', 1, -10, 7, '{"knowledge": "SUCCEEDED", "cost_micros": 7, "observer": "POLL"}')
		) e (event, type, revision, held, spent, detail)
		WHERE a.tenant_id = 't0' ORDER BY n, e.revision`

	growAccounts = `
		UPDATE accounts a SET credits_available = credits_available - g.n
		FROM (SELECT account_id, count(*) AS n FROM grown GROUP BY account_id) g
		WHERE a.tenant_id = 't0' AND a.account_id = g.account_id`
)
