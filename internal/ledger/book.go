package ledger

import (
	"maps"
	"slices"
	"time"
)

// Keys names the rows that a call needs in its book. Naming a reservation brings its account, provider, budget and lines along; naming a
// provider brings the budget of its current period.
type Keys struct {
	Reservations []ReservationID
	Accounts     []AccountID
	Providers    []ProviderID
	RequestKeys  []RequestKey
	Tasks        []TaskID
	EventKeys    []string
	Exceptions   []ExceptionID
}

// Add adds the keys of another call.
func (k *Keys) Add(o Keys) {
	k.Reservations = append(k.Reservations, o.Reservations...)
	k.Accounts = append(k.Accounts, o.Accounts...)
	k.Providers = append(k.Providers, o.Providers...)
	k.RequestKeys = append(k.RequestKeys, o.RequestKeys...)
	k.Tasks = append(k.Tasks, o.Tasks...)
	k.EventKeys = append(k.EventKeys, o.EventKeys...)
	k.Exceptions = append(k.Exceptions, o.Exceptions...)
}

// Rows are locked rows of one tenant, and the database's clock as it stood after the locks.
type Rows struct {
	Now          time.Time
	Periods      map[ProviderID]time.Time // the start of each provider's current budget period
	Accounts     []Account
	Providers    []Provider
	Budgets      []Budget
	Reservations []Reservation
	Lines        []Line // in the order of their permits
	Entries      []Entry
	Exceptions   []Exception
}

// Book holds the rows of a batch of calls. Rules read and change it in memory; what changed is written as one set. It does no I/O,
// knows no clock but the one it was given, and belongs to one goroutine.
type Book struct {
	Now     time.Time
	scarce  bool
	periods map[ProviderID]time.Time

	accounts     table[AccountID, Account]
	providers    table[ProviderID, Provider]
	budgets      table[BudgetKey, Budget]
	reservations table[ReservationID, Reservation]
	lines        table[RequestKey, Line]
	tasks        table[taskKey, RequestKey]
	entries      table[string, Entry] // those that a call may ask for
	exceptions   table[ExceptionID, Exception]

	appended list[Entry]
	filed    list[Exception]
}

type taskKey struct {
	provider ProviderID
	task     TaskID
}

// Open makes a book of loaded rows, which are the book's from then on.
func Open(rows Rows) *Book {
	b := &Book{Now: rows.Now, periods: rows.Periods}
	b.accounts.load(rows.Accounts, func(a *Account) AccountID { return a.ID })
	b.providers.load(rows.Providers, func(p *Provider) ProviderID { return p.ID })
	b.budgets.load(rows.Budgets, func(x *Budget) BudgetKey { return x.Key })
	b.reservations.load(rows.Reservations, func(r *Reservation) ReservationID { return r.ID })
	b.lines.load(rows.Lines, func(l *Line) RequestKey { return l.Key })
	b.entries.load(rows.Entries, func(e *Entry) string { return e.EventKey })
	b.exceptions.load(rows.Exceptions, func(e *Exception) ExceptionID { return e.ID })
	for i := range rows.Lines {
		l := &rows.Lines[i]
		if r := b.reservations.get(l.Reservation); r != nil {
			r.Keys = append(r.Keys, l.Key)
		}
		if l.Task != "" {
			b.tasks.put(taskKey{l.Provider, l.Task}, l.Key)
		}
	}
	return b
}

// Decide runs a rule over the book. Its changes stay when it answers, and are forgotten when it fails, so that a call that ends in
// an error leaves nothing for its neighbours to trip over.
func Decide[A any](b *Book, rule func(*Book) (A, error)) (A, error) {
	answer, err := rule(b)
	if err != nil {
		b.end(false)
		var none A
		return none, err
	}
	b.end(true)
	return answer, nil
}

// Scarce tells whether a call was denied because of its provider or that one's budget.
func (b *Book) Scarce() bool { return b.scarce }

// Forget drops what the call being decided has changed so far, for a rule that did not return.
func (b *Book) Forget() { b.end(false) }

func (b *Book) end(keep bool) {
	b.accounts.end(keep)
	b.providers.end(keep)
	b.budgets.end(keep)
	b.reservations.end(keep)
	b.lines.end(keep)
	b.tasks.end(keep)
	b.entries.end(keep)
	b.exceptions.end(keep)
	b.appended.end(keep)
	b.filed.end(keep)
}

// Changed are the rows of one table that a book changed, each set sorted by key as the rows were locked.
type Changed[V any] struct {
	Inserted []V
	Updated  []V
}

// Changes are what a book's calls have changed: one set of rows to write.
type Changes struct {
	Accounts     Changed[Account]
	Providers    Changed[Provider]
	Budgets      Changed[Budget]
	Reservations Changed[Reservation]
	Lines        Changed[Line]
	Exceptions   Changed[Exception] // resolved ones
	Entries      []Entry            // in the order of the calls
	Filed        []Exception        // facts to keep, or to count once more; one a row
}

// Empty tells that there is nothing to write.
func (c *Changes) Empty() bool {
	return len(c.Entries)+len(c.Filed)+
		c.Accounts.len()+c.Providers.len()+c.Budgets.len()+c.Reservations.len()+c.Lines.len()+c.Exceptions.len() == 0
}

func (c *Changed[V]) len() int { return len(c.Inserted) + len(c.Updated) }

// Changes returns what the calls decided so far have changed.
func (b *Book) Changes() Changes {
	return Changes{
		Accounts:     b.accounts.changes(compare[AccountID]),
		Providers:    b.providers.changes(compare[ProviderID]),
		Budgets:      b.budgets.changes(compareBudgets),
		Reservations: b.reservations.changes(compare[ReservationID]),
		Lines:        b.lines.changes(compare[RequestKey]),
		Exceptions:   b.exceptions.changes(compare[ExceptionID]),
		Entries:      b.appended.kept(),
		Filed:        mergeFiled(b.filed.kept()),
	}
}

// mergeFiled counts the copies of an exception within a batch.
func mergeFiled(filed []Exception) []Exception {
	byID := map[ExceptionID]Exception{}
	for _, e := range filed {
		if first, ok := byID[e.ID]; ok {
			first.Count++
			e = first
		}
		byID[e.ID] = e
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b Exception) int { return compare(a.ID, b.ID) })
}
