package ledgerdb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/settlementd/settlementd/internal/ledger"
)

// sender is a connection or a transaction.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// load reads the rows of one batch. Every statement sees what was committed before it began: so first come the locks, each statement
// reading the rows that it locks, and then the rows that those locks protect.
type load struct {
	tenant     string
	patience   Patience
	sql        lockStatements
	everywhere bool // look for reservations in the archive too

	reservationIDs, accountIDs, providerIDs, requestKeys, tasks, eventKeys, exceptionIDs []string

	batch pgx.Batch
	reads []func(pgx.Rows) error // one for each statement, in their order

	rows         ledger.Rows
	places       places
	present      []presentRow
	tenantExists bool
	xid          uint64
}

func newLoad(tenant ledger.TenantID, keys ledger.Keys, patience Patience) *load {
	return &load{
		tenant: string(tenant), patience: patience, sql: lockStatementsFor(patience),
		reservationIDs: sorted(keys.Reservations), accountIDs: sorted(keys.Accounts), providerIDs: sorted(keys.Providers),
		requestKeys: sorted(keys.RequestKeys), tasks: sorted(keys.Tasks), eventKeys: sorted(keys.EventKeys),
		exceptionIDs: sorted(keys.Exceptions),
		rows:         ledger.Rows{Periods: map[ledger.ProviderID]time.Time{}},
		places:       newPlaces(),
	}
}

// sorted returns each id once, in the order in which rows are locked: that of bytes.
func sorted[K ~string](ids []K) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// run sends everything in one round trip and reads the answers.
func (l *load) run(ctx context.Context, conn sender) (Loaded, error) {
	l.queueLocks()
	l.queueReads()
	if err := l.send(ctx, conn); err != nil {
		return Loaded{}, err
	}
	if missing := l.missingAccounts(); len(missing) > 0 {
		// Rare: an account that does not exist, or that somebody has locked.
		l.queue(presentAccounts, l.readLook, l.tenant, missing)
		if err := l.send(ctx, conn); err != nil {
			return Loaded{}, err
		}
	}
	loaded := Loaded{
		Blocked: l.takeBlocked(), TenantExists: l.tenantExists, XID: l.xid, tenant: l.tenant, places: l.places,
		revisions: make(map[ledger.ReservationID]int32, len(l.rows.Reservations)),
	}
	for i := range l.rows.Reservations {
		r := &l.rows.Reservations[i]
		loaded.revisions[r.ID] = r.Revision
	}
	if l.patience == ShareProviders {
		loaded.shared = newShared(&l.rows)
	}
	l.rows.Lines = inOrderOfPermits(l.rows.Lines)
	loaded.Book = ledger.Open(l.rows)
	return loaded, nil
}

// send sends what is queued and reads the answers.
func (l *load) send(ctx context.Context, conn sender) error {
	batch, reads := l.batch, l.reads
	l.batch, l.reads = pgx.Batch{}, nil
	results := conn.SendBatch(ctx, &batch)
	for _, read := range reads {
		rows, err := results.Query()
		if err == nil {
			err = read(rows)
			rows.Close()
		}
		if err == nil {
			err = rows.Err()
		}
		if err != nil {
			_ = results.Close()
			return err
		}
	}
	return results.Close()
}

func (l *load) queue(sql string, read func(pgx.Rows) error, args ...any) {
	l.batch.Queue(sql, args...)
	l.reads = append(l.reads, read)
}

func nothing(pgx.Rows) error { return nil }

// queueLocks locks in the order that all transactions follow. What the reservations name is locked along with what the keys name.
func (l *load) queueLocks() {
	if len(l.reservationIDs)+len(l.accountIDs)+len(l.providerIDs) == 0 {
		return
	}
	lock := l.sql.reservations
	if l.everywhere {
		lock = l.sql.everywhere
	}
	l.queue(lock, l.readReservations, l.tenant, l.reservationIDs)
	l.queue(l.sql.accounts, into(accounts, &l.rows.Accounts, l.places.accounts), l.tenant, l.accountIDs)
	l.queue(l.sql.providers, into(providers, &l.rows.Providers, l.places.providers), l.tenant, l.providerIDs)
	l.queue(l.sql.budgets, into(budgets, &l.rows.Budgets, l.places.budgets), l.tenant, l.providerIDs)
}

// queueReads reads what the locks protect, and looks last at the clock and at what was not locked.
func (l *load) queueReads() {
	for i, keys := range [][]string{l.reservationIDs, l.requestKeys, l.tasks} {
		if len(keys) > 0 {
			l.queue(linesBy[i], l.readLines, l.tenant, keys)
		}
	}
	if len(l.eventKeys) > 0 {
		l.queue(readEntries, l.readEntries, l.tenant, l.eventKeys)
	}
	if len(l.exceptionIDs) > 0 {
		l.queue(readExceptions, l.readExceptions, l.tenant, l.exceptionIDs)
	}
	last := look
	if l.patience == SkipLocked {
		last = lookForProviders
	}
	l.queue(last, l.readLook, l.tenant, l.reservationIDs, l.providerIDs)
}

// into reads a statement's rows of a table.
func into[R any](t *table[R], to *[]R, places map[string]pgtype.TID) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*to, err = t.collectLocated(rows, places)
		return err
	}
}

// readReservations reads where each is along with it: in which table, and there at which place.
func (l *load) readReservations(rows pgx.Rows) error {
	defer rows.Close()
	var dests []any
	for rows.Next() {
		var row reservationRow
		var place pgtype.TID
		var inArchive bool
		dests = append(reservations.dests(dests[:0], &row), &place, &inArchive)
		if err := rows.Scan(dests...); err != nil {
			return fmt.Errorf("ledgerdb: scan reservations: %w", err)
		}
		places := l.places.reservations
		if inArchive {
			places = l.places.archived
		}
		places[string(row.ID)] = place
		l.rows.Reservations = append(l.rows.Reservations, row.reservation())
	}
	return rows.Err()
}

func (l *load) readExceptions(rows pgx.Rows) error {
	found, err := exceptions.collectLocated(rows, l.places.exceptions)
	l.rows.Exceptions = array(found, (*exceptionRow).exception)
	return err
}

func (l *load) readLines(rows pgx.Rows) error {
	found, err := lines.collectLocated(rows, l.places.lines)
	l.rows.Lines = append(l.rows.Lines, found...)
	return err
}

func (l *load) readEntries(rows pgx.Rows) (err error) {
	l.rows.Entries, err = collectEntries(rows)
	return err
}
