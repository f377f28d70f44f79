package ledgerdb

import (
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
)

// exceptionRow is an exception with its cost beside it: a row has the columns of one also where the fact told none.
type exceptionRow struct {
	ledger.Exception
	cost     *ledger.Micros
	currency string
}

func newExceptionRow(e ledger.Exception) exceptionRow {
	row := exceptionRow{Exception: e}
	if e.Cost != nil {
		row.cost, row.currency = &e.Cost.Micros, e.Cost.Currency
	}
	return row
}

func (row *exceptionRow) exception() ledger.Exception {
	if row.cost != nil {
		row.Cost = &ledger.Money{Micros: *row.cost, Currency: row.currency}
	}
	return row.Exception
}

type exceptionColumn = column[exceptionRow]

var exceptions = declare(table[exceptionRow]{
	name: "exceptions",
	key: []exceptionColumn{
		text("exception_id", func(e *exceptionRow) *string { return (*string)(&e.ID) }),
	},
	fixed: []exceptionColumn{
		text("reservation_id", func(e *exceptionRow) *string { return (*string)(&e.Reservation) }),
		text("request_key", func(e *exceptionRow) *string { return (*string)(&e.RequestKey) }),
		text("reason", func(e *exceptionRow) *string { return (*string)(&e.Reason) }),
		text("fact", func(e *exceptionRow) *string { return &e.Fact }),
		optionalBigint("cost_micros", func(e *exceptionRow) **ledger.Micros { return &e.cost }),
		optional("currency", func(e *exceptionRow) *string { return &e.currency }),
		text("observer", func(e *exceptionRow) *string { return (*string)(&e.Observer) }),
		timestamp("first_seen_at", func(e *exceptionRow) *time.Time { return &e.FirstSeenAt }),
	},
	mutable: []exceptionColumn{
		bigint("count", func(e *exceptionRow) *int64 { return &e.Count }),
		timestamp("last_seen_at", func(e *exceptionRow) *time.Time { return &e.LastSeenAt }),
		optional("resolution", func(e *exceptionRow) *string { return (*string)(&e.Resolution) }),
		optional("resolution_reason", func(e *exceptionRow) *string { return &e.ResolutionReason }),
		optionalTimestamp("resolved_at", func(e *exceptionRow) *time.Time { return &e.ResolvedAt }),
	},
	// A fact that comes again is counted.
	conflict: "ON CONFLICT (tenant_id, exception_id) DO UPDATE SET count = exceptions.count + EXCLUDED.count, " +
		"last_seen_at = greatest(exceptions.last_seen_at, EXCLUDED.last_seen_at)",
})
