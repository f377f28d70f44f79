package ledger

import "time"

// Micros counts millionths of a currency's unit.
type Micros int64

// Money is an amount of a provider's currency.
type Money struct {
	Micros   Micros
	Currency string
}

// Policy is what a provider's operator decided about its jobs. A reservation is stamped with it, and judged by its stamp ever after.
type Policy struct {
	PermitSeconds           int64
	NotReceivedAfterSeconds int64
	IdempotencyKeySeconds   int64 // 0: the provider takes no idempotency keys
	OutputCheckRequired     bool
	OutputRejectionCaptures bool
	AuthoritativeObserver   Observer // empty: any
}

// Provider is an external generation service.
type Provider struct {
	ID                ProviderID
	Currency          string
	MaxInFlight       int64 // 0: no cap
	InFlight          int64
	UncertainInFlight int64
	Enabled           bool
	Policy            Policy
	BudgetPeriod      PeriodKind
	TimeZone          string
	BudgetLimit       Micros // of a period that is yet to begin
	CreatedAt         time.Time
}

// BudgetKey names a provider's budget for one period.
type BudgetKey struct {
	Provider    ProviderID
	PeriodStart time.Time
}

// Budget is what a provider may cost in one period. Spent tells the truth even above the limit.
type Budget struct {
	Key   BudgetKey
	Limit Micros
	Held  Micros
	Spent Micros
}

// available returns what can still be held. It is negative when more was spent than the limit.
func (b *Budget) available() Micros { return b.Limit - b.Held - b.Spent }

// ProviderSettings is what an operator decides about a provider. Currency, budget period and time zone are for ever.
type ProviderSettings struct {
	ID           ProviderID
	Currency     string
	MaxInFlight  int64
	Enabled      bool
	Policy       Policy
	BudgetPeriod PeriodKind
	TimeZone     string
	BudgetLimit  Micros
}

// PutProvider creates the provider or changes its settings. Reservations that stand keep the policy they were stamped with.
func (b *Book) PutProvider(s ProviderSettings) (Provider, error) {
	p := b.providers.draft(s.ID)
	if p == nil {
		p = b.providers.add(s.ID, Provider{
			ID: s.ID, Currency: s.Currency, BudgetPeriod: s.BudgetPeriod, TimeZone: s.TimeZone, CreatedAt: b.Now,
		})
	}
	switch {
	case p.Currency != s.Currency:
		return Provider{}, precondition("currency", "the currency of provider %s is %s and never changes", p.ID, p.Currency)
	case p.BudgetPeriod != s.BudgetPeriod:
		return Provider{}, precondition("budget_period", "the budget period of provider %s is %s and never changes", p.ID, p.BudgetPeriod)
	case p.TimeZone != s.TimeZone:
		return Provider{}, precondition("time_zone", "the time zone of provider %s is %s and never changes", p.ID, p.TimeZone)
	}
	p.MaxInFlight, p.Enabled, p.Policy, p.BudgetLimit = s.MaxInFlight, s.Enabled, s.Policy, s.BudgetLimit
	b.providers.save(p.ID)
	return *p, nil
}

// PutBudget sets the limit of the provider's current period, and returns the budget with its currency. Below what is held and spent, it
// denies until there is room again.
func (b *Book) PutBudget(id ProviderID, limit Micros) (Budget, string, error) {
	p := b.providers.get(id)
	if p == nil {
		return Budget{}, "", notFound("provider_id", "provider %s", id)
	}
	budget := b.currentBudget(p)
	budget.Limit = limit
	b.keepBudget(budget)
	return *budget, p.Currency, nil
}

// currentBudget returns the budget of the provider's current period: a draft of its row, or a new one that is the caller's to keep.
func (b *Book) currentBudget(p *Provider) *Budget {
	key := BudgetKey{Provider: p.ID, PeriodStart: b.periods[p.ID]}
	if budget := b.budgets.draft(key); budget != nil {
		return budget
	}
	return &Budget{Key: key, Limit: p.BudgetLimit}
}

// keepBudget saves a budget that currentBudget gave.
func (b *Book) keepBudget(budget *Budget) {
	if b.budgets.get(budget.Key) == nil {
		b.budgets.add(budget.Key, *budget)
	}
	b.budgets.save(budget.Key)
}
