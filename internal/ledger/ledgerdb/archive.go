package ledgerdb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
)

// ArchivePage asks for a stretch of a tenant's reservations, in the order of their creation, to be looked at.
type ArchivePage struct {
	After     Cursor
	OlderThan time.Duration // settled longer ago than this, by the database's clock
	Scan      int           // how many reservations to look at
}

// Archived is what became of a page.
type Archived struct {
	Looked int    // fewer than were asked for: there are no more that are as old
	Moved  int    // into the archive
	Last   Cursor // the last one that was looked at
}

// archiveSQL moves what is over from one table to the other. What it asks of a reservation is for ever once it is so: an outcome stands, a
// budget hold does not come back, a known request does not become unknown, and after the end no request is added. So it may look before it
// locks. It waits for no lock: a reservation that is locked, or was changed since the statement began, is left for another time.
//
// The statement is the whole transaction: when it fails, or nobody hears its answer, each reservation is in one of the two tables.
var archiveSQL = `WITH horizon AS MATERIALIZED (SELECT settlement_now() - $4 * interval '1 microsecond' AS at),
	page AS MATERIALIZED (
		SELECT reservation_id, created_at, ctid AS place,
			outcome_kind IS NOT NULL AND budget_state = 'ENDED' AND settled_at < (SELECT at FROM horizon) AS is_over
		FROM reservations
		WHERE tenant_id = $1 AND taken_amount >= 0 AND (created_at, reservation_id) > ($2, $3) AND created_at < (SELECT at FROM horizon)
		ORDER BY created_at, reservation_id LIMIT $5
	),
	locked AS MATERIALIZED (
		SELECT t.* FROM (
			SELECT p.* FROM page p LEFT JOIN LATERAL (
				SELECT true AS found FROM lines l WHERE l.tenant_id = $1 AND l.reservation_id = p.reservation_id AND l.` + ofAnyReservation + ` AND l.unresolved LIMIT 1
			) unresolved ON true
			WHERE p.is_over AND unresolved.found IS NULL
		) k
		CROSS JOIN LATERAL (
			SELECT r.*, r.ctid AS place FROM reservations r
			WHERE r.ctid = k.place AND r.tenant_id = $1 AND r.reservation_id = k.reservation_id OFFSET 0 FOR UPDATE SKIP LOCKED
		) t
		WHERE t.place = k.place
	),
	come AS (INSERT INTO archived_reservations (tenant_id, ` + reservationColumns + ") SELECT t.tenant_id, " + reservations.columns("t") + ` FROM locked t RETURNING 1),
	gone AS (DELETE FROM reservations r USING locked t WHERE r.ctid = t.place AND r.tenant_id = $1 AND r.reservation_id = t.reservation_id)
	SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM come), t.created_at, t.reservation_id
	FROM (SELECT) one LEFT JOIN (SELECT created_at, reservation_id FROM page ORDER BY 1 DESC, 2 DESC LIMIT 1) t ON true`

// reservationColumns are the columns of a reservation that are written.
var reservationColumns = strings.Join(array(reservations.all, func(c *reservationColumn) string { return c.name }), ", ")

// Archive moves those reservations of a page into the archive that are over: ended for long, with every request resolved and every cost
// known. Replicas may archive at once. What could not be moved is looked at again by who begins again.
func (s *Store) Archive(ctx context.Context, tenant ledger.TenantID, p ArchivePage) (Archived, error) {
	var a Archived
	err := s.pool.QueryRow(ctx, archiveSQL, string(tenant), p.After.At, p.After.ID, p.OlderThan.Microseconds(), p.Scan).
		Scan(&a.Looked, &a.Moved, (*nullTime)(&a.Last.At), (*nullText)(&a.Last.ID))
	if err != nil {
		return Archived{}, fmt.Errorf("ledgerdb: archive: %w", err)
	}
	return a, nil
}
