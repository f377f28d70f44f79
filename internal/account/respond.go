package account

import (
	"encoding/json"

	"google.golang.org/protobuf/types/known/structpb"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

func respondAccount(a *ledger.Account) *settlementv1.Account {
	return &settlementv1.Account{
		AccountId: string(a.ID), CreditsAvailable: int64(a.Credits.Available), CreditsHeld: int64(a.Credits.Held),
		FreeAttemptsAvailable: int64(a.FreeAttempts.Available), FreeAttemptsHeld: int64(a.FreeAttempts.Held),
		SlotLimit: a.SlotLimit, SlotsInUse: a.SlotsInUse, Suspended: a.Suspended, CreatedAt: wire.Time(a.CreatedAt),
	}
}

func respondProvider(p *ledger.Provider) *settlementv1.Provider {
	return &settlementv1.Provider{
		ProviderId: string(p.ID), Currency: p.Currency, MaxInFlight: p.MaxInFlight, InFlight: p.InFlight,
		UncertainInFlight: p.UncertainInFlight, Enabled: p.Enabled, PermitSeconds: p.Policy.PermitSeconds,
		NotReceivedAfterSeconds: p.Policy.NotReceivedAfterSeconds, IdempotencyKeySeconds: p.Policy.IdempotencyKeySeconds,
		OutputCheckRequired: p.Policy.OutputCheckRequired, OutputRejectionCaptures: p.Policy.OutputRejectionCaptures,
		AuthoritativeObserver: wire.Observers.Enum(p.Policy.AuthoritativeObserver), BudgetPeriod: wire.Periods.Enum(p.BudgetPeriod),
		TimeZone: p.TimeZone, BudgetLimitMicros: int64(p.BudgetLimit), CreatedAt: wire.Time(p.CreatedAt),
	}
}

func respondBudget(b *ledger.Budget, currency string) *settlementv1.Budget {
	return &settlementv1.Budget{
		ProviderId: string(b.Key.Provider), PeriodStart: wire.Time(b.Key.PeriodStart), Currency: currency,
		LimitMicros: int64(b.Limit), HeldMicros: int64(b.Held), SpentMicros: int64(b.Spent),
	}
}

func respondEntry(e *ledger.Entry) *settlementv1.LedgerEntry {
	m := &settlementv1.LedgerEntry{
		EntryId: e.ID, EventKey: e.EventKey, EventType: wire.Events.Enum(e.Type), AccountId: string(e.Account),
		ReservationId: string(e.Reservation), BudgetHeldChangeMicros: int64(e.BudgetHeldChange),
		BudgetSpentChangeMicros: int64(e.SpentChange), Detail: respondDetail(&e.Detail), CreatedAt: wire.Time(e.CreatedAt),
	}
	if e.Reservation != "" {
		m.Revision = &e.Revision
	}
	if v := e.Movement; v != nil {
		m.Unit = wire.Units.Enum(v.Unit)
		m.AvailableBefore, m.AvailableAfter = (*int64)(&v.Before.Available), (*int64)(&v.After.Available)
		m.HeldBefore, m.HeldAfter = (*int64)(&v.Before.Held), (*int64)(&v.After.Held)
	}
	return m
}

// respondDetail shows the detail as it is stored.
func respondDetail(d *ledger.Detail) *structpb.Struct {
	text, err := json.Marshal(d)
	if err != nil {
		return nil
	}
	detail := &structpb.Struct{}
	if detail.UnmarshalJSON(text) != nil || len(detail.GetFields()) == 0 {
		return nil
	}
	return detail
}
