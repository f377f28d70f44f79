package ledgerdb

import (
	"slices"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
)

type lineColumn = column[ledger.Line]

var lines = declare(table[ledger.Line]{
	name: "lines",
	key: []lineColumn{
		text("request_key", func(l *ledger.Line) *string { return (*string)(&l.Key) }),
	},
	fixed: []lineColumn{
		text("reservation_id", func(l *ledger.Line) *string { return (*string)(&l.Reservation) }),
		text("provider_id", func(l *ledger.Line) *string { return (*string)(&l.Provider) }),
		text("kind", func(l *ledger.Line) *string { return (*string)(&l.Kind) }),
		optional("stage", func(l *ledger.Line) *string { return (*string)(&l.Stage) }),
		integer("attempt", func(l *ledger.Line) *int32 { return &l.Attempt }),
		optional("permit_token", func(l *ledger.Line) *string { return (*string)(&l.Token) }),
		timestamp("permitted_at", func(l *ledger.Line) *time.Time { return &l.PermittedAt }),
		optionalTimestamp("resend_until", func(l *ledger.Line) *time.Time { return &l.ResendUntil }),
		bigintWhen("check_timeout_seconds", func(l *ledger.Line) *int64 { return &l.CheckTimeoutSeconds },
			func(l *ledger.Line) bool { return l.Kind == ledger.Moderation }),
	},
	mutable: []lineColumn{
		text("knowledge", func(l *ledger.Line) *string { return (*string)(&l.Knowledge) }),
		timestamp("permit_expires_at", func(l *ledger.Line) *time.Time { return &l.PermitExpiresAt }),
		optionalTimestamp("resent_at", func(l *ledger.Line) *time.Time { return &l.ResentAt }),
		optional("provider_task_id", func(l *ledger.Line) *string { return (*string)(&l.Task) }),
		optionalBigint("cost_micros", func(l *ledger.Line) **ledger.Micros { return &l.Cost }),
		bigint("cost_adjustment_micros", func(l *ledger.Line) *int64 { return (*int64)(&l.Adjustment) }),
		optional("uncertain_cause", func(l *ledger.Line) *string { return &l.UncertainCause }),
		encoded("last_evidence", "jsonb", func(l *ledger.Line) any { return &l.Evidence }, encodeEvidence),
		timestamp("updated_at", func(l *ledger.Line) *time.Time { return &l.UpdatedAt }),
	},
})

func encodeEvidence(l *ledger.Line) string {
	if l.Evidence == nil {
		return ""
	}
	return jsonText(l.Evidence)
}

// inOrderOfPermits sorts lines, and drops those that were found by more than one key.
func inOrderOfPermits(found []ledger.Line) []ledger.Line {
	slices.SortFunc(found, ledger.ByPermit)
	return slices.CompactFunc(found, func(a, b ledger.Line) bool { return a.Key == b.Key })
}
