package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Status is what the server knows of a transaction.
type Status int

// The states of a transaction. Unknown is the answer for one that is so old that the server has forgotten it.
const (
	Unknown Status = iota
	InProgress
	Committed
	Aborted
)

// String names the status as pg_xact_status does.
func (s Status) String() string {
	switch s {
	case InProgress:
		return "in progress"
	case Committed:
		return "committed"
	case Aborted:
		return "aborted"
	default:
		return "unknown"
	}
}

// LostCommit is the error of a transaction whose COMMIT was sent and whose answer never came. Status is what [Decide] found.
type LostCommit struct {
	XID    uint64
	Status Status
	Err    error
}

// Error says which transaction it was and what is known of it.
func (e *LostCommit) Error() string {
	return fmt.Sprintf("postgres: the answer to COMMIT was lost (transaction %d: %v): %v", e.XID, e.Status, e.Err)
}

// Unwrap returns the error that took the answer's place.
func (e *LostCommit) Unwrap() error { return e.Err }

// XactStatus asks the server once about a transaction, by the id that pg_current_xact_id gave it. While a COMMIT hangs, for
// instance on a synchronous standby, the answer is InProgress although the rows are already flushed.
//
// It tells that a transaction is over, and not what it did: a server that crashed before it flushed the transaction gives the
// id again. So answer from the rows once this says Committed or Aborted, and never from the status alone.
func XactStatus(ctx context.Context, pool *pgxpool.Pool, xid uint64) (Status, error) {
	var status *string
	err := pool.QueryRow(ctx, "SELECT pg_xact_status($1::xid8)", xid).Scan(&status)
	switch {
	case SQLState(err) == "22023": // an id of the future: the crash that lost the transaction turned the counter back
		return Aborted, nil
	case err != nil:
		return Unknown, fmt.Errorf("postgres: status of transaction %d: %w", xid, err)
	case status == nil:
		return Unknown, nil
	}
	for _, s := range []Status{InProgress, Committed, Aborted} {
		if s.String() == *status {
			return s, nil
		}
	}
	return Unknown, fmt.Errorf("postgres: transaction %d is %q, which this program does not know", xid, *status)
}

// Decide waits until a transaction is over, through lost connections and restarts of the server, as long as ctx lives. An
// error means that ctx ended first; the status with it is the last one seen. While COMMITs hang they may hold every connection
// of the ledger's pool, so ask through the pool for reads.
func Decide(ctx context.Context, pool *pgxpool.Pool, xid uint64) (Status, error) {
	wait, last := 5*time.Millisecond, Unknown
	for {
		status, err := XactStatus(ctx, pool, xid)
		switch {
		case err == nil && status != InProgress:
			return status, nil
		case err == nil:
			last = status
		case Classify(err) == Data:
			return last, err
		}
		if ended := pause(ctx, wait); ended != nil {
			if err != nil {
				return last, err
			}
			return last, fmt.Errorf("postgres: transaction %d is still in progress: %w", xid, ended)
		}
		wait = min(2*wait, 250*time.Millisecond)
	}
}
