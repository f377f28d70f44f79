package coretest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
)

// store is the ledger's tables in memory, and the clock.
type store struct {
	now          time.Time
	accounts     map[ledger.AccountID]ledger.Account
	providers    map[ledger.ProviderID]ledger.Provider
	budgets      map[ledger.BudgetKey]ledger.Budget
	reservations map[ledger.ReservationID]ledger.Reservation
	lines        map[ledger.RequestKey]ledger.Line
	entries      []ledger.Entry
	exceptions   map[ledger.ExceptionID]ledger.Exception
}

// start is when the first step of every situation is taken.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// noPeriod is where the budget of a provider without periods begins.
var noPeriod = time.Unix(0, 0).UTC()

func newStore() *store {
	return &store{
		now: start, accounts: map[ledger.AccountID]ledger.Account{}, providers: map[ledger.ProviderID]ledger.Provider{},
		budgets: map[ledger.BudgetKey]ledger.Budget{}, reservations: map[ledger.ReservationID]ledger.Reservation{},
		lines: map[ledger.RequestKey]ledger.Line{}, exceptions: map[ledger.ExceptionID]ledger.Exception{},
	}
}

// clone copies the rows; what rows point to is never changed in place.
func (s *store) clone() *store {
	return &store{
		now: s.now, accounts: maps.Clone(s.accounts), providers: maps.Clone(s.providers), budgets: maps.Clone(s.budgets),
		reservations: maps.Clone(s.reservations), lines: maps.Clone(s.lines), entries: slices.Clone(s.entries),
		exceptions: maps.Clone(s.exceptions),
	}
}

// seconds is the time since the first step.
func (s *store) seconds() int64 { return int64(s.now.Sub(start) / time.Second) }

func (s *store) wait(n int64) { s.now = s.now.Add(time.Duration(n) * time.Second) }

// decide runs one rule on a book of all rows, and writes back what it changed.
func decide[A any](s *store, rule func(*ledger.Book) (A, error)) (A, error) {
	book := ledger.Open(s.rows())
	answer, err := ledger.Decide(book, rule)
	s.write(book.Changes())
	return answer, err
}

func (s *store) rows() ledger.Rows {
	periods := map[ledger.ProviderID]time.Time{}
	for id := range s.providers {
		periods[id] = noPeriod
	}
	return ledger.Rows{
		Now: s.now, Periods: periods,
		Accounts: values(s.accounts), Providers: values(s.providers), Budgets: values(s.budgets),
		Reservations: values(s.reservations), Lines: s.journal(""), Entries: slices.Clone(s.entries), Exceptions: values(s.exceptions),
	}
}

func values[K comparable, V any](m map[K]V) []V { return slices.Collect(maps.Values(m)) }

// journal returns the lines of a reservation, or all, in the order of their permits.
func (s *store) journal(of ledger.ReservationID) []ledger.Line {
	var lines []ledger.Line
	for _, l := range s.lines {
		if of == "" || l.Reservation == of {
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(a, b ledger.Line) int {
		return cmp.Or(a.PermittedAt.Compare(b.PermittedAt), cmp.Compare(a.Key, b.Key))
	})
	return lines
}

// write stores changes, as inserts that must be new and updates that must not.
func (s *store) write(c ledger.Changes) {
	put(s.accounts, c.Accounts, func(a ledger.Account) ledger.AccountID { return a.ID })
	put(s.providers, c.Providers, func(p ledger.Provider) ledger.ProviderID { return p.ID })
	put(s.budgets, c.Budgets, func(b ledger.Budget) ledger.BudgetKey { return b.Key })
	put(s.reservations, c.Reservations, func(r ledger.Reservation) ledger.ReservationID { return r.ID })
	put(s.lines, c.Lines, func(l ledger.Line) ledger.RequestKey { return l.Key })
	put(s.exceptions, c.Exceptions, func(e ledger.Exception) ledger.ExceptionID { return e.ID })
	for id, r := range s.reservations {
		r.Keys = nil // a reservation's row does not name its lines
		s.reservations[id] = r
	}
	s.entries = append(s.entries, c.Entries...)
	for _, e := range c.Filed {
		if kept, found := s.exceptions[e.ID]; found {
			e.Count += kept.Count
		}
		s.exceptions[e.ID] = e
	}
}

func put[K comparable, V any](rows map[K]V, c ledger.Changed[V], key func(V) K) {
	for _, v := range c.Inserted {
		if _, found := rows[key(v)]; found {
			panic(fmt.Sprintf("inserted twice: %v", v))
		}
		rows[key(v)] = v
	}
	for _, v := range c.Updated {
		if _, found := rows[key(v)]; !found {
			panic(fmt.Sprintf("updated and never inserted: %v", v))
		}
		rows[key(v)] = v
	}
}
