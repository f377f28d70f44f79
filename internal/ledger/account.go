package ledger

import "time"

// Amount counts whole credits or free attempts.
type Amount int64

// Account is a customer: two balances, each with a part held for open reservations, and the slots that bound its jobs in flight.
type Account struct {
	ID           AccountID
	Credits      Balance
	FreeAttempts Balance
	SlotLimit    int64
	SlotsInUse   int64
	Suspended    bool
	CreatedAt    time.Time
}

// Balance is what an account has of one unit. Available plus held is what all its ledger entries add up to.
type Balance struct {
	Available Amount
	Held      Amount
}

// balance returns the balance of the unit.
func (a *Account) balance(u Unit) *Balance {
	if u == FreeAttempts {
		return &a.FreeAttempts
	}
	return &a.Credits
}

// AccountSettings is what an operator decides about an account.
type AccountSettings struct {
	ID        AccountID
	SlotLimit int64
	Suspended bool
}

// PutAccount creates the account or changes its settings. Balances and slots in use stay; a limit below the slots in use only denies.
func (b *Book) PutAccount(s AccountSettings) (Account, error) {
	a := b.accounts.draft(s.ID)
	if a == nil {
		a = b.accounts.add(s.ID, Account{ID: s.ID, CreatedAt: b.Now})
	}
	a.SlotLimit, a.Suspended = s.SlotLimit, s.Suspended
	b.accounts.save(s.ID)
	return *a, nil
}

// Grant adds credits or free attempts to an account, once per grant id.
type Grant struct {
	ID      string
	Account AccountID
	Unit    Unit
	Amount  Amount
}

// EventKey is the key under which the grant stands in the ledger.
func (g Grant) EventKey() string {
	word := "credits"
	if g.Unit == FreeAttempts {
		word = "free_attempts"
	}
	return eventKey("grant", string(g.Account), word, g.ID)
}

// field is what the request calls the amount.
func (g Grant) field() string {
	if g.Unit == FreeAttempts {
		return "attempts"
	}
	return "credits"
}

// Keys names the rows that the call needs.
func (g Grant) Keys() Keys {
	return Keys{Accounts: []AccountID{g.Account}, EventKeys: []string{g.EventKey()}}
}

// GrantAnswer is the account after a grant, and its entry. Replayed tells that the grant stood already; the entry is then the first one.
type GrantAnswer struct {
	Account  Account
	Entry    Entry
	Replayed bool
}

// Grant adds to an account's balance. The same id with another amount is an error, never a second grant.
func (b *Book) Grant(g Grant) (GrantAnswer, error) {
	a := b.accounts.draft(g.Account)
	if a == nil {
		return GrantAnswer{}, notFound("account_id", "account %s", g.Account)
	}
	if e := b.entries.get(g.EventKey()); e != nil {
		if e.granted() != g.Amount {
			return GrantAnswer{}, exists(g.field(), "grant %s gave %d", g.ID, e.granted())
		}
		return GrantAnswer{Account: *a, Entry: *e, Replayed: true}, nil
	}
	balance := a.balance(g.Unit)
	if g.Amount > AmountMax-balance.Available-balance.Held {
		return GrantAnswer{}, precondition(g.field(), "the balance would exceed %d", int64(AmountMax))
	}
	before := *balance
	balance.Available += g.Amount
	event := EventCreditsGranted
	if g.Unit == FreeAttempts {
		event = EventFreeAttemptsGranted
	}
	e := Entry{
		EventKey: g.EventKey(), Type: event, Account: a.ID, CreatedAt: b.Now,
		Movement: &Movement{Unit: g.Unit, Before: before, After: *balance},
	}
	b.accounts.save(a.ID)
	b.appended.add(e)
	b.entries.add(e.EventKey, e)
	b.entries.save(e.EventKey)
	return GrantAnswer{Account: *a, Entry: e}, nil
}
