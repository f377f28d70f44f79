package ledgerdb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/ledger"
)

// Reader answers what needs no lock. What it tells was true at one moment, and every answer is of one.
type Reader struct {
	pool *pgxpool.Pool
}

// NewReader makes a reader over the pool whose plans are the planner's own.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// Cursor is the place of a row in a list: the list goes on after it. The zero cursor is before the first row.
type Cursor struct {
	At time.Time
	ID string
}

// Page asks for the rows of a list after a place.
type Page struct {
	After Cursor
	Size  int
}

// one reads the row that a statement selects, or fails with NotFound.
func one[R any](ctx context.Context, r *Reader, t *table[R], missing *ledger.Error, sql string, args ...any) (R, error) {
	var none R
	rows, err := r.pool.Query(ctx, sql, args...)
	if err != nil {
		return none, fmt.Errorf("ledgerdb: read %s: %w", t.name, err)
	}
	found, err := t.collect(rows)
	switch {
	case err != nil:
		return none, fmt.Errorf("ledgerdb: read %s: %w", t.name, err)
	case len(found) == 0:
		return none, missing
	}
	return found[0], nil
}

// list reads the rows of a statement. An empty list of a tenant that does not exist is an error.
func list[V any](ctx context.Context, r *Reader, tenant ledger.TenantID, collect func(pgx.Rows) ([]V, error), sql string, args ...any) ([]V, error) {
	rows, err := r.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: list: %w", err)
	}
	found, err := collect(rows)
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: list: %w", err)
	}
	if len(found) == 0 {
		return nil, r.RequireTenant(ctx, tenant)
	}
	return found, nil
}

func missing(field, format string, args ...any) *ledger.Error {
	return &ledger.Error{Kind: ledger.NotFound, Field: field, Message: fmt.Sprintf(format, args...) + " does not exist"}
}

// CreateTenant makes a tenant where there is none yet, and tells since when it has been there. It is the one write that needs no lock.
func (r *Reader) CreateTenant(ctx context.Context, tenant ledger.TenantID) (time.Time, error) {
	var since nullTime
	var batch pgx.Batch
	batch.Queue("INSERT INTO tenants (tenant_id, created_at) VALUES ($1, settlement_now()) ON CONFLICT DO NOTHING", string(tenant))
	batch.Queue("SELECT created_at FROM tenants WHERE tenant_id = $1", string(tenant)).QueryRow(func(row pgx.Row) error {
		return row.Scan(&since)
	})
	if err := r.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return time.Time{}, fmt.Errorf("ledgerdb: create a tenant: %w", err)
	}
	return time.Time(since), nil
}

// Tenants names all tenants, in the order of their ids.
func (r *Reader) Tenants(ctx context.Context) ([]ledger.TenantID, error) {
	rows, err := r.pool.Query(ctx, "SELECT tenant_id FROM tenants ORDER BY tenant_id")
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: list tenants: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: list tenants: %w", err)
	}
	return array(found, func(s *string) ledger.TenantID { return ledger.TenantID(*s) }), nil
}

// RequireTenant fails with NotFound if nobody has created the tenant.
func (r *Reader) RequireTenant(ctx context.Context, tenant ledger.TenantID) error {
	exists, err := r.yes(ctx, `SELECT EXISTS (SELECT FROM tenants WHERE tenant_id = $1)`, string(tenant))
	if err == nil && !exists {
		return missing("tenant_id", "tenant %s", tenant)
	}
	return err
}

// TimeZoneExists tells whether the database knows a time zone by this name, to the letter.
func (r *Reader) TimeZoneExists(ctx context.Context, name string) (bool, error) {
	return r.yes(ctx, `SELECT EXISTS (SELECT FROM pg_timezone_names WHERE name = $1)`, name)
}

// Now returns the time by the clock of every decision.
func (r *Reader) Now(ctx context.Context) (now time.Time, err error) {
	if err := r.pool.QueryRow(ctx, "SELECT settlement_now()").Scan((*nullTime)(&now)); err != nil {
		return now, fmt.Errorf("ledgerdb: the clock: %w", err)
	}
	return now, nil
}

func (r *Reader) yes(ctx context.Context, sql string, args ...any) (yes bool, err error) {
	if err := r.pool.QueryRow(ctx, sql, args...).Scan(&yes); err != nil {
		return false, fmt.Errorf("ledgerdb: %w", err)
	}
	return yes, nil
}

// Account returns an account.
func (r *Reader) Account(ctx context.Context, tenant ledger.TenantID, id ledger.AccountID) (ledger.Account, error) {
	return one(ctx, r, accounts, missing("account_id", "account %s", id),
		"SELECT "+accounts.columns("t")+" FROM accounts t WHERE t.tenant_id = $1 AND t.account_id = $2", string(tenant), string(id))
}

// Provider returns a provider.
func (r *Reader) Provider(ctx context.Context, tenant ledger.TenantID, id ledger.ProviderID) (ledger.Provider, error) {
	return one(ctx, r, providers, missing("provider_id", "provider %s", id),
		"SELECT "+providers.columns("t")+" FROM providers t WHERE t.tenant_id = $1 AND t.provider_id = $2", string(tenant), string(id))
}

// Budget returns the budget of a provider's current period, or of the one that starts at start where that is not zero. A current one that
// nothing was taken from yet has the provider's default limit.
func (r *Reader) Budget(ctx context.Context, tenant ledger.TenantID, id ledger.ProviderID, start time.Time) (ledger.Budget, error) {
	if !start.IsZero() {
		return one(ctx, r, budgets, missing("period_start", "a budget of provider %s from %s", id, start.Format(time.RFC3339)),
			"SELECT "+budgets.columns("t")+" FROM budgets t WHERE t.tenant_id = $1 AND t.provider_id = $2 AND t.period_start = $3",
			string(tenant), string(id), start)
	}
	return one(ctx, r, budgets, missing("provider_id", "provider %s", id), `
		SELECT p.provider_id, k.period_start, coalesce(b.limit_micros, p.budget_limit_micros), coalesce(b.held_micros, 0), coalesce(b.spent_micros, 0)
		FROM providers p
		JOIN (`+currentPeriods("ARRAY[$2]")+`) k (provider_id, period_start) ON k.provider_id = p.provider_id
		LEFT JOIN budgets b ON b.tenant_id = $1 AND b.provider_id = p.provider_id AND b.period_start = k.period_start
		WHERE p.tenant_id = $1 AND p.provider_id = $2`, string(tenant), string(id))
}
