package ledgerdb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

// Due is a reservation whose deadline has passed and that nobody has judged yet.
type Due struct {
	At          time.Time
	Reservation ledger.ReservationID
}

// OverdueTenants names the tenants that have overdue reservations, the longest waiting first.
func (r *Reader) OverdueTenants(ctx context.Context, limit int) ([]ledger.TenantID, error) {
	rows, err := r.pool.Query(ctx, "SELECT overdue_tenants($1)", limit)
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: overdue tenants: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: overdue tenants: %w", err)
	}
	return array(found, func(s *string) ledger.TenantID { return ledger.TenantID(*s) }), nil
}

// dueSQL reads the clock once, so that the index is searched for what is due and not read to its end.
const dueSQL = `SELECT t.due_at, t.reservation_id FROM reservations t
	WHERE t.tenant_id = $1 AND t.due_at <= (SELECT settlement_now()) AND (t.due_at, t.reservation_id) > ($2, $3)
	ORDER BY t.due_at, t.reservation_id LIMIT $4`

// DueReservations returns overdue reservations of a tenant after a place, the longest waiting first.
func (r *Reader) DueReservations(ctx context.Context, tenant ledger.TenantID, after Due, limit int) ([]Due, error) {
	rows, err := r.pool.Query(ctx, dueSQL, string(tenant), after.At, string(after.Reservation), limit)
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: due reservations: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d Due, err error) {
		return d, row.Scan((*nullTime)(&d.At), (*nullText)(&d.Reservation))
	})
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: due reservations: %w", err)
	}
	return found, nil
}
