package ledgerdb

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
)

// reservationRow is a reservation with its outcome beside it: a row has the columns of one also while there is none.
type reservationRow struct {
	ledger.Reservation
	outcome ledger.Outcome
}

func newReservationRow(r ledger.Reservation) reservationRow {
	row := reservationRow{Reservation: r}
	if r.Outcome != nil {
		row.outcome = *r.Outcome
	}
	return row
}

func (row *reservationRow) reservation() ledger.Reservation {
	if row.outcome.Kind != "" {
		row.Outcome = &row.outcome
	}
	return row.Reservation
}

type reservationColumn = column[reservationRow]

// A reservation stands in one of two tables of the same columns: in the archive when it is over and has been for long.
// Who only reads looks at both as the view all_reservations.
var (
	reservations = declare(reservationTable("reservations"))
	archived     = declare(reservationTable("archived_reservations"))
)

func reservationTable(name string) table[reservationRow] {
	return table[reservationRow]{
		name: name, key: reservationKey, fixed: reservationStamp, mutable: reservationProgress,
		// The row is locked, so nothing can have changed it since it was read; if something has, the batch fails.
		condition: "t.revision = u.previous",
	}
}

var (
	reservationKey = []reservationColumn{
		text("reservation_id", func(r *reservationRow) *string { return (*string)(&r.ID) }),
	}
	reservationStamp = []reservationColumn{
		text("account_id", func(r *reservationRow) *string { return (*string)(&r.Asked.Account) }),
		text("provider_id", func(r *reservationRow) *string { return (*string)(&r.Asked.Provider) }),
		text("funding_kind", func(r *reservationRow) *string { return (*string)(&r.Asked.Funding.Kind) }),
		bigint("credits_asked", func(r *reservationRow) *int64 { return (*int64)(&r.Asked.Funding.Credits) }),
		bigint("budget_micros", func(r *reservationRow) *int64 { return (*int64)(&r.Asked.Budget) }),
		text("currency", func(r *reservationRow) *string { return &r.Asked.Currency }),
		optionalBigint("ttl_seconds_asked", func(r *reservationRow) **int64 { return &r.Asked.TTLSeconds }),
		optional("submission_key", func(r *reservationRow) *string { return (*string)(&r.Asked.SubmissionKey) }),
		encoded("labels", "jsonb", func(r *reservationRow) any { return &r.Asked.Labels }, encodeLabels),
		text("taken_unit", func(r *reservationRow) *string { return (*string)(&r.Taken.Unit) }),
		bigint("taken_amount", func(r *reservationRow) *int64 { return (*int64)(&r.Taken.Amount) }),
		timestamp("period_start", func(r *reservationRow) *time.Time { return &r.PeriodStart }),
		bigint("permit_seconds", func(r *reservationRow) *int64 { return &r.Policy.PermitSeconds }),
		bigint("not_received_after_seconds", func(r *reservationRow) *int64 { return &r.Policy.NotReceivedAfterSeconds }),
		bigint("idempotency_key_seconds", func(r *reservationRow) *int64 { return &r.Policy.IdempotencyKeySeconds }),
		boolean("output_check_required", func(r *reservationRow) *bool { return &r.Policy.OutputCheckRequired }),
		boolean("output_rejection_captures", func(r *reservationRow) *bool { return &r.Policy.OutputRejectionCaptures }),
		optional("authoritative_observer", func(r *reservationRow) *string { return (*string)(&r.Policy.AuthoritativeObserver) }),
		bigint("max_age_seconds", func(r *reservationRow) *int64 { return &r.MaxAgeSeconds }),
		timestamp("created_at", func(r *reservationRow) *time.Time { return &r.CreatedAt }),
	}
	reservationProgress = []reservationColumn{
		text("state", func(r *reservationRow) *string { return (*string)(&r.State) }),
		integer("revision", func(r *reservationRow) *int32 { return &r.Revision }),
		timestamp("deadline", func(r *reservationRow) *time.Time { return &r.Deadline }),
		timestamp("deadline_max", func(r *reservationRow) *time.Time { return &r.DeadlineMax }),
		optionalTimestamp("overdue_since", func(r *reservationRow) *time.Time { return &r.OverdueSince }),
		optionalTimestamp("cancel_requested_at", func(r *reservationRow) *time.Time { return &r.CancelRequestedAt }),
		optional("cancel_reason", func(r *reservationRow) *string { return &r.CancelReason }),
		text("credit_state", func(r *reservationRow) *string { return (*string)(&r.Credit) }),
		bigint("credits_captured", func(r *reservationRow) *int64 { return (*int64)(&r.Captured) }),
		text("slot_state", func(r *reservationRow) *string { return (*string)(&r.Slot) }),
		text("budget_state", func(r *reservationRow) *string { return (*string)(&r.Budget) }),
		optional("outcome_kind", func(r *reservationRow) *string { return (*string)(&r.outcome.Kind) }),
		optional("outcome_stage", func(r *reservationRow) *string { return (*string)(&r.outcome.Stage) }),
		optional("outcome_cause", func(r *reservationRow) *string { return &r.outcome.Cause }),
		optional("outcome_code", func(r *reservationRow) *string { return &r.outcome.Code }),
		encoded("outcome_categories", "text[]", func(r *reservationRow) any { return &r.outcome.Categories }, encodeCategories),
		optionalBigint("outcome_charge", func(r *reservationRow) **ledger.Amount { return &r.outcome.Charge }),
		optional("outcome_observer", func(r *reservationRow) *string { return (*string)(&r.outcome.Observer) }),
		optional("outcome_closed_by", func(r *reservationRow) *string { return &r.outcome.ClosedBy }),
		optionalTimestamp("settled_at", func(r *reservationRow) *time.Time { return &r.outcome.SettledAt }),
		timestamp("updated_at", func(r *reservationRow) *time.Time { return &r.UpdatedAt }),
	}
)

func encodeLabels(r *reservationRow) string {
	if len(r.Asked.Labels) == 0 {
		return ""
	}
	return jsonText(r.Asked.Labels)
}

// encodeCategories writes the text of a PostgreSQL array.
func encodeCategories(r *reservationRow) string {
	if len(r.outcome.Categories) == 0 {
		return ""
	}
	quoted := make([]string, len(r.outcome.Categories))
	for i, c := range r.outcome.Categories {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(c) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}

// jsonText encodes a value of ours, which cannot fail.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("ledgerdb: " + err.Error())
	}
	return string(text)
}
