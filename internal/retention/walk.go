package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres"
)

const (
	failuresMax = 10  // of a tenant before somebody goes on to another: what refuses one more reservation may well refuse all
	passedMax   = 100 // that are tried again at every look
)

// walk is how far somebody has come in a tenant's reservations, in the order of their creation.
type walk struct {
	store     *ledgerdb.Store
	tenant    ledger.TenantID
	olderThan time.Duration
	chunk     int
	limit     time.Duration // of a transaction; 0: none but the database's

	at       ledgerdb.Cursor
	suspect  int // among so many of the next ones is one that a chunk failed for; 0: nothing is known of them
	began    time.Time
	failures int               // that were met since somebody last counted from 0
	passed   []ledgerdb.Cursor // right behind these stand reservations that were passed because they could not be archived
}

// Failure is a reservation that cannot be archived. The walk has passed it.
type Failure struct {
	Tenant      ledger.TenantID
	Reservation ledger.ReservationID
	Err         error
}

// Error names the reservation.
func (f *Failure) Error() string {
	return fmt.Sprintf("archive reservation %s of tenant %s: %v", f.Reservation, f.Tenant, f.Err)
}

// Unwrap is why.
func (f *Failure) Unwrap() error { return f.Err }

// step archives the next chunk in one transaction, and tells whether there may be more. After a chunk that failed it takes halves until the culprit
// is alone, and passes that one: the error is then a Failure that names it. Any other error is of no single reservation.
func (w *walk) step(ctx context.Context) (chunk ledgerdb.Archived, more bool, err error) {
	scan := w.chunk
	if w.suspect > 0 {
		scan = (w.suspect + 1) / 2
	}
	chunk, err = w.archive(ctx, w.at, scan)
	switch {
	case err == nil:
		if chunk.Looked > 0 {
			w.at, w.suspect = chunk.Last, max(w.suspect-chunk.Looked, 0)
		}
		return chunk, chunk.Looked == scan, nil
	case !blames(err):
		return chunk, false, err
	case scan == 1:
		return chunk, true, w.pass(ctx, err)
	}
	w.suspect = scan
	return chunk, true, nil
}

// blames tells whether an error may be due to what a chunk has in it. A database that is away fails whatever it is asked.
func blames(err error) bool {
	class := postgres.Classify(err)
	return class != postgres.Unavailable && class != postgres.CallerLeft
}

// pass goes on behind the next reservation, which cannot be archived.
func (w *walk) pass(ctx context.Context, why error) error {
	first, found, err := w.store.ArchiveNext(ctx, w.tenant, w.page(w.at, 1))
	switch {
	case err != nil:
		return err
	case !found: // somebody else has archived it since
		return nil
	}
	if len(w.passed) < passedMax { // the others are found again by the next walk
		w.passed = append(w.passed, w.at)
	}
	w.at, w.suspect, w.failures = first, 0, w.failures+1
	return &Failure{w.tenant, ledger.ReservationID(first.ID), why}
}

// again tries those that were passed once more, and tells how many it has archived. Those that fail still are kept.
func (w *walk) again(ctx context.Context) (moved int, err error) {
	before := w.passed
	w.passed = nil
	for i, at := range before {
		chunk, err := w.archive(ctx, at, 1) // or another one, if somebody else has archived it: no harm
		switch {
		case err == nil:
			moved += chunk.Moved
		case blames(err):
			w.passed = append(w.passed, at)
		default:
			w.passed = append(w.passed, before[i:]...)
			return moved, err
		}
	}
	return moved, nil
}

// archive looks at some reservations, as one transaction.
func (w *walk) archive(ctx context.Context, after ledgerdb.Cursor, scan int) (ledgerdb.Archived, error) {
	if w.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.limit)
		defer cancel()
	}
	return w.store.Archive(ctx, w.tenant, w.page(after, scan))
}

func (w *walk) page(after ledgerdb.Cursor, scan int) ledgerdb.ArchivePage {
	return ledgerdb.ArchivePage{After: after, OlderThan: w.olderThan, Scan: scan}
}
