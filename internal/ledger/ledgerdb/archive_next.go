package ledgerdb

import (
	"context"
	"fmt"

	"github.com/settlementd/settlementd/internal/ledger"
)

// archiveNextSQL finds the first row of the page that archiveSQL looks at, by the same index.
const archiveNextSQL = `SELECT t.created_at, t.reservation_id
	FROM (SELECT) one LEFT JOIN LATERAL (
		SELECT created_at, reservation_id FROM reservations
		WHERE tenant_id = $1 AND taken_amount >= 0 AND (created_at, reservation_id) > ($2, $3)
			AND created_at < (SELECT settlement_now()) - $4 * interval '1 microsecond'
		ORDER BY created_at, reservation_id LIMIT 1
	) t ON true`

// ArchiveNext tells which reservation Archive looks at first, if there is one: whoever finds that Archive fails on a page of one learns here
// which it is, and how to pass it.
func (s *Store) ArchiveNext(ctx context.Context, tenant ledger.TenantID, p ArchivePage) (first Cursor, found bool, err error) {
	err = s.pool.QueryRow(ctx, archiveNextSQL, string(tenant), p.After.At, p.After.ID, p.OlderThan.Microseconds()).
		Scan((*nullTime)(&first.At), (*nullText)(&first.ID))
	if err != nil {
		return Cursor{}, false, fmt.Errorf("ledgerdb: archive: %w", err)
	}
	return first, first.ID != "", nil
}
