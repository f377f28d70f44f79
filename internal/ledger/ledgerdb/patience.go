package ledgerdb

import "github.com/settlementd/settlementd/internal/ledger"

// Patience tells how loading a batch meets rows that another transaction has locked. A locked row that is skipped leaves its calls out of
// the batch; one that is waited for longer than lock_timeout fails the batch.
type Patience int

// The kinds of patience.
const (
	// SkipLockedAccounts skips locked reservations and accounts, and waits for providers and budgets, which every call of a provider needs.
	SkipLockedAccounts Patience = iota
	// ShareProviders skips locked reservations and accounts too, and locks no provider and no budget: it reads them as they are, and other
	// batches may be under way on them. Commit moves their counters by what the batch has changed, behind all else, and fails where they have
	// no room for it any more or their settings have changed. What it says of a provider's or a budget's lack of room is only what was so a
	// moment ago: see Book.Scarce.
	ShareProviders
	// SkipLocked skips locked providers and budgets too.
	SkipLocked
	// WaitForLocks waits for every row.
	WaitForLocks
)

// Blocked are the rows that a batch left out because another transaction has them locked, or made them while others were waited for.
type Blocked struct {
	Reservations map[ledger.ReservationID]ledger.AccountID // each with its account, also when only its account or provider is locked
	Accounts     map[ledger.AccountID]bool
	Providers    map[ledger.ProviderID]bool // their own row, or that of their budget
}

// None tells that every row was locked.
func (b *Blocked) None() bool {
	return len(b.Reservations)+len(b.Accounts)+len(b.Providers) == 0
}

// By tells whether a call with these keys is blocked, and by which account where it is an account's lock.
func (b *Blocked) By(k ledger.Keys) (ledger.AccountID, bool) {
	for _, id := range k.Providers {
		if b.Providers[id] {
			return "", true
		}
	}
	for _, id := range k.Accounts {
		if b.Accounts[id] {
			return id, true
		}
	}
	for _, id := range k.Reservations {
		if account, ok := b.Reservations[id]; ok {
			return account, true
		}
	}
	return "", false
}
