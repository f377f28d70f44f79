package ledgerdb

import (
	"context"
	"fmt"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
)

// InDoubtError says that COMMIT was sent and its answer never came: the transaction may stand, and may even still be on its way. Ask
// [Store.Fate] until it is decided, and never commit again.
type InDoubtError struct {
	XID uint64
	Err error

	tenant string
	wrote  proof
}

// Error tells which transaction is in doubt.
func (e *InDoubtError) Error() string {
	return fmt.Sprintf("ledgerdb: the answer to COMMIT of transaction %d was lost: %v", e.XID, e.Err)
}

// Unwrap returns the error that took the answer's place.
func (e *InDoubtError) Unwrap() error { return e.Err }

// proof names rows that show a transaction to stand: its entries, each of which only it can have written at that time, and the exceptions
// that it filed.
type proof struct {
	at         time.Time
	events     []string
	exceptions []string
}

func proofOf(at time.Time, c *ledger.Changes) proof {
	return proof{
		at:         at,
		events:     array(c.Entries, func(e *ledger.Entry) string { return e.EventKey }),
		exceptions: array(c.Filed, func(e *ledger.Exception) string { return string(e.ID) }),
	}
}

// Fate is what became of a transaction in doubt.
type Fate int

// The fates of a transaction.
const (
	// Undecided says that it is neither committed nor aborted yet.
	Undecided Fate = iota
	// Stands says that it is committed: what its calls were going to answer is true.
	Stands
	// Lost says that it is over and that nothing shows it to stand: its calls are to be decided again.
	Lost
)

const countProof = `SELECT
	(SELECT count(*) FROM entries WHERE tenant_id = $1 AND event_key = ANY ($2::text[]) AND created_at = $3) +
	(SELECT count(*) FROM exceptions WHERE tenant_id = $1 AND exception_id = ANY ($4::text[]) AND last_seen_at >= $3)`

// Fate asks once what became of a transaction in doubt. The transaction's own status tells when it is over, for a plain read misses a
// COMMIT that hangs. Then the rows tell whether it stands, for a server that crashed before it flushed the transaction gives its id to
// another one.
func (s *Store) Fate(ctx context.Context, doubt *InDoubtError) (Fate, error) {
	status, err := postgres.XactStatus(ctx, s.pool, doubt.XID)
	if err != nil || status == postgres.InProgress {
		return Undecided, err
	}
	wrote := &doubt.wrote
	rows := len(wrote.events) + len(wrote.exceptions)
	if rows == 0 {
		return Lost, nil // settings, or what was tried in vain about a line: both may be written twice
	}
	var found int
	err = s.pool.QueryRow(ctx, countProof, doubt.tenant, wrote.events, wrote.at, wrote.exceptions).Scan(&found)
	switch {
	case err != nil:
		return Undecided, fmt.Errorf("ledgerdb: look for what transaction %d wrote: %w", doubt.XID, err)
	case found == rows:
		return Stands, nil
	default:
		return Lost, nil
	}
}
