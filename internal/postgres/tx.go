package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// TxOptions says how InTx runs a transaction.
type TxOptions struct {
	Once bool // never run fn a second time: for a transaction that cannot recognise its own effect
}

const (
	tries         = 3
	finishTimeout = 10 * time.Second // of a COMMIT or ROLLBACK, whose time is not the caller's
)

// InTx runs fn inside one transaction, READ COMMITTED whatever the database's default, and commits when fn returns nil. Its contract:
//
//   - fn does all its work through the tx it is given, and returns the errors of the database wrapped or as they are.
//   - Unless Once is set fn may run up to three times, as long as ctx lives: again after a lost race, a deadlock, a
//     serialization failure or a lost connection, and also after a COMMIT whose answer was lost and that may stand. So fn must
//     find its own effect in the rows and answer from it. What fn keeps outside of the tx is still there in its next run, whatever became
//     of the tx.
//   - An error of fn that is not one of those ends the transaction and is returned as it is.
//   - The context of a caller who left stops the statements and the waiting, and never COMMIT or ROLLBACK: those run to
//     their end with a time limit of their own.
//   - A *LostCommit is returned when nobody could learn in time whether the transaction stands, and with Once whenever its answer was lost.
//   - A lock timeout is returned at once: who waited once has waited enough.
func InTx(ctx context.Context, pool *pgxpool.Pool, opts TxOptions, fn func(context.Context, pgx.Tx) error) error {
	for try := 1; ; try++ {
		err := runTx(ctx, pool, fn)
		var lost *LostCommit
		if errors.As(err, &lost) {
			lost.Status = settle(ctx, pool, lost.XID)
			if lost.Status == InProgress || lost.Status == Unknown {
				return err
			}
		}
		if opts.Once || try == tries || !again(err) {
			return err
		}
		if pause(ctx, time.Duration(try)*5*time.Millisecond) != nil {
			return err
		}
	}
}

func again(err error) bool {
	switch Classify(err) {
	case LostRace, Retryable, Unavailable:
		return true
	default:
		return false
	}
}

// settle waits for the end of a transaction whose COMMIT was sent, as long as the caller waits, and ten seconds at most.
func settle(ctx context.Context, pool *pgxpool.Pool, xid uint64) Status {
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	status, _ := Decide(ctx, pool, xid) // with an error it is the last one seen
	return status
}

// runTx is one try: begin, fn, commit.
func runTx(ctx context.Context, pool *pgxpool.Pool, fn func(context.Context, pgx.Tx) error) error {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return fmt.Errorf("postgres: begin: %w", err)
	}
	ended := false
	defer func() { // also when fn panics
		if !ended {
			finish, cancel := detached(ctx)
			defer cancel()
			_ = tx.Rollback(finish) // a connection that cannot roll back is closed, which rolls back as well
		}
	}()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	var xid *uint64 // asked before COMMIT, because a lost answer would lose it too
	if err := tx.QueryRow(ctx, "SELECT pg_current_xact_id_if_assigned()").Scan(&xid); err != nil {
		return fmt.Errorf("postgres: before commit: %w", err)
	}
	ended = true // the point of no return: only the server knows from here on
	finish, cancel := detached(ctx)
	defer cancel()
	return committed(tx.Commit(finish), xid)
}

func committed(err error, xid *uint64) error {
	switch {
	case err == nil:
		return nil
	case !Ambiguous(err):
		return fmt.Errorf("postgres: commit: %w", err)
	case xid == nil: // nothing was written, so nothing was lost
		return nil
	default:
		return &LostCommit{XID: *xid, Err: err}
	}
}

// detached is a context for the end of a transaction: the caller may leave, the transaction may not stay.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
}

// Ambiguous tells whether an error of a round trip that carried COMMIT leaves open if the transaction stands. It does not when
// the server answered with an error of a statement, or when nothing was sent.
//
// Ask it about the first error of the round trip: pgx.BeginFunc returns the error of its own rollback instead.
func Ambiguous(err error) bool {
	if err == nil || errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, pgx.ErrTxClosed) {
		return false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// FATAL and PANIC end the connection and may come while a flushed COMMIT still waits for its standby.
		return pg.SeverityUnlocalized != "ERROR" && pg.Severity != "ERROR"
	}
	// "conn closed" claims that nothing was sent, but pgx also says so when the connection broke under a batch of the
	// exec and simple modes: it drops the first error there.
	return errors.Is(err, pgconn.ErrConnClosed) || !pgconn.SafeToRetry(err)
}

// pause waits about d, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
