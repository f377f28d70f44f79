package jobdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

// rollbackTime bounds the way back to a savepoint.
const rollbackTime = 5 * time.Second

// Apply carries out an errand on the targets, all or none, inside a transaction that belongs to the caller: READ COMMITTED, of this
// tenant only. It writes no job and no audit. After an error, a *ledger.Conflict say, the transaction is as it was before and can go on.
func Apply(ctx context.Context, tx pgx.Tx, tenant ledger.TenantID, e ledger.Errand, targets []ledger.Target) ([]ledger.Processed, error) {
	sorted, err := ledger.SortTargets(targets)
	if err != nil {
		return nil, err
	}
	savepoint, err := tx.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("jobdb: apply: %w", err)
	}
	done, err := apply(ctx, savepoint, tenant, e, sorted)
	if err == nil {
		err = savepoint.Commit(ctx)
	}
	if err != nil {
		// Whatever became of the caller's context, the savepoint must not stay.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		_ = savepoint.Rollback(ctx)
		return nil, err
	}
	return done, nil
}

func apply(ctx context.Context, tx pgx.Tx, tenant ledger.TenantID, e ledger.Errand, targets []ledger.Target) ([]ledger.Processed, error) {
	var keys ledger.Keys
	for _, t := range targets {
		keys.Reservations = append(keys.Reservations, t.Reservation)
	}
	loaded, err := ledgerdb.Load(ctx, tx, tenant, keys)
	if err != nil {
		return nil, err
	}
	done := make([]ledger.Processed, 0, len(targets))
	for _, t := range targets {
		p, err := ledger.Decide(loaded.Book, func(b *ledger.Book) (ledger.Processed, error) { return b.ApplyTarget(e, t) })
		if err != nil {
			return nil, err
		}
		done = append(done, p)
	}
	err = loaded.Save(ctx, tx)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && ledgerdb.IsEntryConflict(err) {
		return nil, &ledger.Error{Kind: ledger.Broken, Message: "the ledger has an end of an open reservation: " + pg.Detail}
	}
	return done, err
}
