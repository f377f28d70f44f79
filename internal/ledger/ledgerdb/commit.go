package ledgerdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
)

// errRolledBack is COMMIT's answer to a transaction that had failed before.
var errRolledBack = errors.New("ledgerdb: the server answered COMMIT with ROLLBACK")

// Commit writes what the book's calls have changed and commits, in one round trip. Where nothing has changed it rolls back, which costs
// no flush. Either way the transaction is over and the connection given back.
//
// An *InDoubtError means that the transaction may stand. Any other error means that nothing of it does.
func (b *Batch) Commit(ctx context.Context) error {
	defer b.Rollback()
	changes := b.Book.Changes()
	if changes.Empty() {
		return nil
	}
	err := ctx.Err()
	if err == nil && b.shared != nil {
		err = b.shared.allows(&changes)
	}
	if err != nil {
		return fmt.Errorf("ledgerdb: commit: %w", err)
	}
	var batch pgx.Batch
	b.queueWrites(&batch, &changes)
	batch.Queue("COMMIT")
	switch err = b.sendCommit(ctx, &batch); {
	case err == nil:
		return nil
	case errors.Is(err, errRolledBack) || !postgres.Ambiguous(err):
		return fmt.Errorf("ledgerdb: commit: %w", err)
	default:
		return &InDoubtError{XID: b.XID, Err: err, tenant: b.tenant, wrote: proofOf(b.Book.Now, &changes)}
	}
}

// sendCommit returns the first error of the writes or of COMMIT, which is the last of the batch.
func (b *Batch) sendCommit(ctx context.Context, batch *pgx.Batch) error {
	results := b.conn.SendBatch(ctx, batch)
	for range batch.Len() - 1 {
		if _, err := results.Exec(); err != nil {
			_ = results.Close()
			return err
		}
	}
	tag, err := results.Exec()
	closed := results.Close()
	switch {
	case err != nil:
		return err
	case tag.String() == "COMMIT":
		return nil // durable, whatever becomes of the connection
	case closed != nil:
		return closed
	default:
		return errRolledBack
	}
}

// Save writes what the book has changed inside the transaction that it was loaded in.
func (l *Loaded) Save(ctx context.Context, tx pgx.Tx) error {
	changes := l.Book.Changes()
	if changes.Empty() {
		return nil
	}
	var batch pgx.Batch
	l.queueWrites(&batch, &changes)
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("ledgerdb: save: %w", err)
	}
	return nil
}

// queueWrites adds one statement a table for each kind of change. The order of the tables is that of the locks, and shared ones come last;
// rows come sorted, and entries in the order of the calls.
func (l *Loaded) queueWrites(b *pgx.Batch, c *ledger.Changes) {
	accounts.queueInsert(b, l.tenant, c.Accounts.Inserted)
	accounts.queueUpdate(b, l.tenant, l.places.accounts, c.Accounts.Updated)
	if l.shared == nil {
		providers.queueInsert(b, l.tenant, c.Providers.Inserted)
		providers.queueUpdate(b, l.tenant, l.places.providers, c.Providers.Updated)
		budgets.queueInsert(b, l.tenant, c.Budgets.Inserted)
		budgets.queueUpdate(b, l.tenant, l.places.budgets, c.Budgets.Updated)
	}
	reservations.queueInsert(b, l.tenant, rowsOf(c.Reservations.Inserted, newReservationRow))
	hot, cold := l.byPlace(c.Reservations.Updated)
	reservations.queueUpdate(b, l.tenant, l.places.reservations, rowsOf(hot, newReservationRow), l.previous(hot)...)
	archived.queueUpdate(b, l.tenant, l.places.archived, rowsOf(cold, newReservationRow), l.previous(cold)...)
	lines.queueInsert(b, l.tenant, c.Lines.Inserted)
	lines.queueUpdate(b, l.tenant, l.places.lines, c.Lines.Updated)
	entries.queueInsert(b, l.tenant, rowsOf(c.Entries, newEntryRow))
	exceptions.queueUpdate(b, l.tenant, l.places.exceptions, rowsOf(c.Exceptions.Updated, newExceptionRow))
	exceptions.queueInsert(b, l.tenant, rowsOf(c.Filed, newExceptionRow))
	if l.shared != nil {
		l.shared.queueMoves(b, l.tenant, c)
	}
}

// byPlace parts the archived reservations from the others. What changes of an archived one changes in the archive.
func (l *Loaded) byPlace(updated []ledger.Reservation) (hot, cold []ledger.Reservation) {
	if len(l.places.archived) == 0 {
		return updated, nil
	}
	for i := range updated {
		if _, ok := l.places.archived[string(updated[i].ID)]; ok {
			cold = append(cold, updated[i])
		} else {
			hot = append(hot, updated[i])
		}
	}
	return hot, cold
}

// previous are the revisions that the reservations had when they were loaded.
func (l *Loaded) previous(updated []ledger.Reservation) []int64 {
	return array(updated, func(r *ledger.Reservation) int64 { return int64(l.revisions[r.ID]) })
}

func rowsOf[V, R any](values []V, row func(V) R) []R {
	return array(values, func(v *V) R { return row(*v) })
}
