package ledgerdb

import (
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
)

type (
	accountColumn  = column[ledger.Account]
	providerColumn = column[ledger.Provider]
	budgetColumn   = column[ledger.Budget]
)

var accounts = declare(table[ledger.Account]{
	name: "accounts",
	key: []accountColumn{
		text("account_id", func(a *ledger.Account) *string { return (*string)(&a.ID) }),
	},
	fixed: []accountColumn{
		timestamp("created_at", func(a *ledger.Account) *time.Time { return &a.CreatedAt }),
	},
	mutable: []accountColumn{
		bigint("credits_available", func(a *ledger.Account) *int64 { return (*int64)(&a.Credits.Available) }),
		bigint("credits_held", func(a *ledger.Account) *int64 { return (*int64)(&a.Credits.Held) }),
		bigint("free_attempts_available", func(a *ledger.Account) *int64 { return (*int64)(&a.FreeAttempts.Available) }),
		bigint("free_attempts_held", func(a *ledger.Account) *int64 { return (*int64)(&a.FreeAttempts.Held) }),
		bigint("slot_limit", func(a *ledger.Account) *int64 { return &a.SlotLimit }),
		bigint("slots_in_use", func(a *ledger.Account) *int64 { return &a.SlotsInUse }),
		boolean("suspended", func(a *ledger.Account) *bool { return &a.Suspended }),
	},
})

var providers = declare(table[ledger.Provider]{
	name: "providers",
	key: []providerColumn{
		text("provider_id", func(p *ledger.Provider) *string { return (*string)(&p.ID) }),
	},
	fixed: []providerColumn{
		text("currency", func(p *ledger.Provider) *string { return &p.Currency }),
		text("budget_period", func(p *ledger.Provider) *string { return (*string)(&p.BudgetPeriod) }),
		text("time_zone", func(p *ledger.Provider) *string { return &p.TimeZone }),
		timestamp("created_at", func(p *ledger.Provider) *time.Time { return &p.CreatedAt }),
	},
	mutable: []providerColumn{
		bigint("max_in_flight", func(p *ledger.Provider) *int64 { return &p.MaxInFlight }),
		bigint("in_flight", func(p *ledger.Provider) *int64 { return &p.InFlight }),
		bigint("uncertain_in_flight", func(p *ledger.Provider) *int64 { return &p.UncertainInFlight }),
		boolean("enabled", func(p *ledger.Provider) *bool { return &p.Enabled }),
		bigint("permit_seconds", func(p *ledger.Provider) *int64 { return &p.Policy.PermitSeconds }),
		bigint("not_received_after_seconds", func(p *ledger.Provider) *int64 { return &p.Policy.NotReceivedAfterSeconds }),
		bigint("idempotency_key_seconds", func(p *ledger.Provider) *int64 { return &p.Policy.IdempotencyKeySeconds }),
		boolean("output_check_required", func(p *ledger.Provider) *bool { return &p.Policy.OutputCheckRequired }),
		boolean("output_rejection_captures", func(p *ledger.Provider) *bool { return &p.Policy.OutputRejectionCaptures }),
		optional("authoritative_observer", func(p *ledger.Provider) *string { return (*string)(&p.Policy.AuthoritativeObserver) }),
		bigint("budget_limit_micros", func(p *ledger.Provider) *int64 { return (*int64)(&p.BudgetLimit) }),
	},
	counters: []string{"in_flight", "uncertain_in_flight"},
	room:     "u.in_flight <= 0 OR t.max_in_flight = 0 OR t.in_flight + u.in_flight <= t.max_in_flight",
})

var budgets = declare(table[ledger.Budget]{
	name: "budgets",
	key: []budgetColumn{
		text("provider_id", func(b *ledger.Budget) *string { return (*string)(&b.Key.Provider) }),
		timestamp("period_start", func(b *ledger.Budget) *time.Time { return &b.Key.PeriodStart }),
	},
	mutable: []budgetColumn{
		bigint("limit_micros", func(b *ledger.Budget) *int64 { return (*int64)(&b.Limit) }),
		bigint("held_micros", func(b *ledger.Budget) *int64 { return (*int64)(&b.Held) }),
		bigint("spent_micros", func(b *ledger.Budget) *int64 { return (*int64)(&b.Spent) }),
	},
	counters: []string{"held_micros", "spent_micros"},
	// The second condition leaves room for the largest hold above what is spent, as the rule does.
	room: "(u.held_micros + u.spent_micros <= 0 OR t.held_micros + u.held_micros <= t.limit_micros - t.spent_micros - u.spent_micros)" +
		" AND (u.spent_micros <= 0 OR t.spent_micros <= 9223372036854775807 - 1000000000000000 - u.spent_micros)",
})
