package ledgerdb

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

// entryRow is an entry with its movement beside it: a row has the columns of one also where nothing moved.
type entryRow struct {
	ledger.Entry
	movement ledger.Movement
}

func newEntryRow(e ledger.Entry) entryRow {
	row := entryRow{Entry: e}
	if e.Movement != nil {
		row.movement = *e.Movement
	}
	return row
}

func (row *entryRow) entry() ledger.Entry {
	if row.movement.Unit != "" {
		row.Movement = &row.movement
	}
	return row.Entry
}

func (row *entryRow) moves() bool         { return row.movement.Unit != "" }
func (row *entryRow) ofReservation() bool { return row.Reservation != "" }

type entryColumn = column[entryRow]

var entries = declare(table[entryRow]{
	name: "entries", // inserted in their order, because the database numbers them
	key: []entryColumn{
		text("event_key", func(e *entryRow) *string { return &e.EventKey }),
	},
	fixed: []entryColumn{
		text("event_type", func(e *entryRow) *string { return (*string)(&e.Type) }),
		text("account_id", func(e *entryRow) *string { return (*string)(&e.Account) }),
		optional("reservation_id", func(e *entryRow) *string { return (*string)(&e.Reservation) }),
		integerWhen("revision", func(e *entryRow) *int32 { return &e.Revision }, (*entryRow).ofReservation),
		optional("unit", func(e *entryRow) *string { return (*string)(&e.movement.Unit) }),
		bigintWhen("available_before", func(e *entryRow) *int64 { return (*int64)(&e.movement.Before.Available) }, (*entryRow).moves),
		bigintWhen("available_after", func(e *entryRow) *int64 { return (*int64)(&e.movement.After.Available) }, (*entryRow).moves),
		bigintWhen("held_before", func(e *entryRow) *int64 { return (*int64)(&e.movement.Before.Held) }, (*entryRow).moves),
		bigintWhen("held_after", func(e *entryRow) *int64 { return (*int64)(&e.movement.After.Held) }, (*entryRow).moves),
		bigint("budget_held_change", func(e *entryRow) *int64 { return (*int64)(&e.BudgetHeldChange) }),
		bigint("budget_spent_change", func(e *entryRow) *int64 { return (*int64)(&e.SpentChange) }),
		encoded("detail", "jsonb", func(e *entryRow) any { return (*detail)(&e.Detail) }, encodeDetail),
		timestamp("created_at", func(e *entryRow) *time.Time { return &e.CreatedAt }),
	},
})

// entryColumns lists what scanEntries takes: the columns that are written, and the id that the database gives.
var entryColumns = entries.columns("t") + ", t.entry_id"

func encodeDetail(e *entryRow) string {
	if reflect.ValueOf(&e.Detail).Elem().IsZero() {
		return ""
	}
	return jsonText(&e.Detail)
}

// detail scans JSON, or NULL where there is nothing to tell.
type detail ledger.Detail

// Scan implements sql.Scanner.
func (d *detail) Scan(src any) error {
	switch text := src.(type) {
	case nil:
		*d = detail{}
		return nil
	case string:
		return json.Unmarshal([]byte(text), (*ledger.Detail)(d))
	case []byte:
		return json.Unmarshal(text, (*ledger.Detail)(d))
	default:
		return fmt.Errorf("ledgerdb: an entry's detail is a %T", src)
	}
}

// collectEntries reads the rows of a statement that selects entryColumns.
func collectEntries(rows pgx.Rows) ([]ledger.Entry, error) {
	defer rows.Close()
	var found []ledger.Entry
	var dests []any
	for rows.Next() {
		var row entryRow
		dests = append(entries.dests(dests[:0], &row), &row.ID)
		if err := rows.Scan(dests...); err != nil {
			return nil, fmt.Errorf("ledgerdb: scan entries: %w", err)
		}
		found = append(found, row.entry())
	}
	return found, rows.Err()
}
