package ledgerdb

import (
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

// presentRow is a row that exists, whoever has it locked.
type presentRow struct {
	kind    string
	id      string
	account ledger.AccountID // of a reservation
	at      time.Time        // the period of a budget
}

// readLook reads the clock and what exists.
func (l *load) readLook(rows pgx.Rows) error {
	for rows.Next() {
		var p presentRow
		if err := rows.Scan(&p.kind, &p.id, (*nullText)(&p.account), (*nullTime)(&p.at)); err != nil {
			return err
		}
		switch p.kind {
		case "clock":
			xid, err := strconv.ParseUint(p.id, 10, 64)
			if err != nil {
				return err
			}
			l.rows.Now, l.xid = p.at, xid
		case "tenant":
			l.tenantExists = true
		case "period":
			l.rows.Periods[ledger.ProviderID(p.id)] = p.at
		default:
			l.present = append(l.present, p)
		}
	}
	return nil
}

// overlooked tells whether a reservation that was not looked for in the archive is there.
func (l *load) overlooked() bool {
	return !l.everywhere && slices.ContainsFunc(l.present, func(p presentRow) bool { return p.kind == "archived" })
}

// missingAccounts are the accounts that were asked for and not locked.
func (l *load) missingAccounts() []string {
	return slices.DeleteFunc(slices.Clone(l.accountIDs), func(id string) bool {
		_, locked := l.places.accounts[id]
		return locked
	})
}

// takeBlocked finds what exists and was not locked. A row that somebody inserted while others were waited for looks the same: without it
// the book would lie.
func (l *load) takeBlocked() Blocked {
	b := Blocked{
		Reservations: map[ledger.ReservationID]ledger.AccountID{},
		Accounts:     map[ledger.AccountID]bool{},
		Providers:    map[ledger.ProviderID]bool{},
	}
	locked := l.locked()
	if l.patience != WaitForLocks {
		l.takeIncomplete(&b, locked)
	}
	l.addPresent(&b, locked)
	return b
}

// takeIncomplete takes the reservations out of the rows that lack a row they need, because it was skipped.
func (l *load) takeIncomplete(b *Blocked, locked locked) {
	l.rows.Reservations = slices.DeleteFunc(l.rows.Reservations, func(r ledger.Reservation) bool {
		complete := locked.accounts[r.Asked.Account] && locked.providers[r.Asked.Provider] && locked.budgets[r.BudgetKey()]
		if !complete {
			b.Reservations[r.ID] = r.Asked.Account
		}
		return !complete
	})
}

func (l *load) addPresent(b *Blocked, locked locked) {
	for _, p := range l.present {
		switch p.kind {
		case "reservation", "archived":
			if id := ledger.ReservationID(p.id); !locked.reservations[id] {
				b.Reservations[id] = p.account
			}
		case "account":
			if id := ledger.AccountID(p.id); !locked.accounts[id] {
				b.Accounts[id] = true
			}
		case "provider":
			if id := ledger.ProviderID(p.id); !locked.providers[id] {
				b.Providers[id] = true
			}
		case "budget":
			if k := (ledger.BudgetKey{Provider: ledger.ProviderID(p.id), PeriodStart: p.at}); !locked.budgets[k] {
				b.Providers[k.Provider] = true
			}
		}
	}
}

// locked are the rows of a batch by key.
type locked struct {
	reservations map[ledger.ReservationID]bool
	accounts     map[ledger.AccountID]bool
	providers    map[ledger.ProviderID]bool
	budgets      map[ledger.BudgetKey]bool
}

func (l *load) locked() locked {
	return locked{
		reservations: keySet(l.rows.Reservations, func(r *ledger.Reservation) ledger.ReservationID { return r.ID }),
		accounts:     keySet(l.rows.Accounts, func(a *ledger.Account) ledger.AccountID { return a.ID }),
		providers:    keySet(l.rows.Providers, func(p *ledger.Provider) ledger.ProviderID { return p.ID }),
		budgets:      keySet(l.rows.Budgets, func(b *ledger.Budget) ledger.BudgetKey { return b.Key }),
	}
}

func keySet[R any, K comparable](rows []R, key func(*R) K) map[K]bool {
	set := make(map[K]bool, len(rows))
	for i := range rows {
		set[key(&rows[i])] = true
	}
	return set
}
