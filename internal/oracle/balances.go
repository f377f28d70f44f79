package oracle

import (
	"strconv"
	"strings"
)

// Balances are the counters of the account, the provider and the budget that a view means.
type Balances struct {
	CreditsAvailable, CreditsHeld           int64
	FreeAttemptsAvailable, FreeAttemptsHeld int64
	SlotsInUse                              int64
	InFlight, UncertainInFlight             int64
	BudgetHeld, BudgetSpent                 int64
}

// Balances counts what the holds of the view took from the account, the provider and the budget of the terms.
func (v View) Balances(t Terms) Balances {
	b := Balances{CreditsAvailable: t.CreditsAvailable, FreeAttemptsAvailable: t.FreeAttemptsAvailable}
	v.countCredit(&b, t)
	if v[Slot] == "HELD" {
		b.SlotsInUse++
		b.InFlight++
		if v[State] == "UNCERTAIN" {
			b.UncertainInFlight++
		}
	}
	if v[Budget] == "HELD" {
		b.BudgetHeld += t.Budget
	}
	for _, part := range Parts {
		b.BudgetSpent += amount(v[part.Cost()])
	}
	if v[Another] == "RESERVED" { // it asked for everything
		b.CreditsAvailable -= t.CreditsAvailable
		b.CreditsHeld += t.CreditsAvailable
		b.SlotsInUse++
		b.InFlight++
		b.BudgetHeld += t.BudgetLimit
	}
	return b
}

func (v View) countCredit(b *Balances, t Terms) {
	taken, available, held := t.Credits, &b.CreditsAvailable, &b.CreditsHeld
	if t.Funding == "FREE_ATTEMPT" {
		taken, available, held = 1, &b.FreeAttemptsAvailable, &b.FreeAttemptsHeld
	}
	state, part, partly := strings.Cut(v[Credit], ":")
	switch {
	case state == "HELD":
		*available -= taken
		*held += taken
	case state == "CAPTURED" && partly:
		*available -= amount(part)
	case state == "CAPTURED":
		*available -= taken
	}
}

// amount reads a number of a view; what is not known counts nothing.
func amount(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
