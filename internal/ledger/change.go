package ledger

import "math"

// change is what one call does to one reservation: however much of it moves, it is one revision and one entry.
type change struct {
	b        *Book
	r        *Reservation
	account  *Account
	provider *Provider
	budget   *Budget

	was     State
	before  Account
	created bool
	event   EventType
	detail  Detail

	moved       bool // something that deserves a revision
	heldChange  Micros
	spentChange Micros
	closing     string // the fact in hand, for a requested cancel that it lets through
	exceptions  []ExceptionRef
	err         error // the first contradiction met; nothing of the call stands then
}

// begin opens a change of a reservation. One that is overdue has its expiry applied first, as a change of its own.
func (b *Book) begin(id ReservationID) (*change, error) {
	c, err := b.draftChange(id)
	if err != nil {
		return nil, err
	}
	if !c.r.overdue(b.Now) || !c.r.OverdueSince.IsZero() {
		return c, nil
	}
	if err := c.expire(); err != nil {
		return nil, err
	}
	return b.draftChange(id)
}

func (b *Book) draftChange(id ReservationID) (*change, error) {
	r := b.reservations.draft(id)
	if r == nil {
		return nil, notFound("reservation_id", "reservation %s", id)
	}
	c := &change{
		b: b, r: r, was: r.State,
		account:  b.accounts.draft(r.Asked.Account),
		provider: b.providers.draft(r.Asked.Provider),
		budget:   b.budgets.draft(r.BudgetKey()),
	}
	if c.account == nil || c.provider == nil || c.budget == nil {
		return nil, broken("reservation %s has lost its account, provider or budget", id)
	}
	c.before = *c.account
	return c, nil
}

// happened names what moved. One change has one event: that which says most.
func (c *change) happened(e EventType) {
	if e.weight() >= c.event.weight() {
		c.event = e
	}
	c.moved = true
}

// learn gives a line a fact that judge said it can take, with the task id and cost that came along.
func (c *change) learn(l *Line, k Knowledge, task TaskID, cost *Money) {
	if l.judge(k) == grows {
		l.Knowledge = k
		c.touch(l)
		c.happened(EventReported)
		if implied := impliedCost(k); implied != nil && cost == nil {
			cost = &Money{*implied, c.r.Asked.Currency}
		}
	}
	c.keep(l, task, cost)
}

// keep records a first-known task id and cost of a line. They stand whatever becomes of the call's fact: the money left whatever the
// customer saw.
func (c *change) keep(l *Line, task TaskID, cost *Money) {
	if task != "" && l.Task == "" {
		l.Task = task
		c.b.tasks.add(taskKey{l.Provider, task}, l.Key)
		c.b.tasks.save(taskKey{l.Provider, task})
		c.detail.Task = task
		c.touch(l)
		c.happened(EventReported)
	}
	if cost != nil {
		c.recordCost(l, *cost)
	}
}

// recordCost makes a cost known, once. It raises what the provider's budget has spent at once, even above the limit. Another cost than
// the one on record is an exception.
func (c *change) recordCost(l *Line, cost Money) Reason {
	switch {
	case cost.Currency != c.r.Asked.Currency:
		return c.except(CurrencyMismatch, l.Key, costFact(cost), &cost)
	case l.Cost != nil && *l.Cost == cost.Micros:
		return ""
	case l.Cost != nil:
		return c.except(CostConflict, l.Key, costFact(cost), &cost)
	}
	l.Cost = &cost.Micros
	c.spend(cost.Micros)
	c.detail.CostMicros = l.Cost
	c.touch(l)
	c.happened(EventCostRecorded)
	return ""
}

// spentMax is the most that a budget can have spent. It leaves room for the largest hold, so that what is left of a budget cannot wrap.
const spentMax = math.MaxInt64 - AmountMax

// spend moves what the budget has spent.
func (c *change) spend(m Micros) {
	if m > 0 && c.budget.Spent > spentMax-m || c.budget.Spent+m < 0 {
		c.fail(broken("budget of provider %s cannot move spent by %d from %d", c.provider.ID, m, c.budget.Spent))
		return
	}
	c.budget.Spent += m
	c.spentChange += m
}

// except files a fact that could not be applied.
func (c *change) except(reason Reason, key RequestKey, fact string, cost *Money) Reason {
	c.exceptions = append(c.exceptions, c.b.file(Exception{
		Reservation: c.r.ID, RequestKey: key, Reason: reason, Fact: fact, Cost: cost, Observer: c.detail.Observer,
	}))
	return reason
}

func (c *change) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// commit closes the change. What the journal now implies happens here, for every call alike: an open reservation that is left without
// an unresolved or succeeded generation ends if its cancel was requested or its deadline has passed, and a budget hold ends when the
// reservation has ended and every cost is known.
func (c *change) commit() error {
	if c.r.State.Open() && c.moved && c.alive() == nil {
		switch {
		case !c.r.CancelRequestedAt.IsZero():
			c.end(Outcome{Kind: OutcomeCancelled})
		case c.r.overdue(c.b.Now):
			c.end(Outcome{Kind: OutcomeExpired, Observer: ByExpiry})
		}
	}
	if !c.moved || c.err != nil {
		return c.err
	}
	if c.r.State.Open() {
		c.r.State = openState(c.alive())
	}
	c.endBudget()
	c.countUncertain()
	if !c.created {
		if c.r.Revision == RevisionMax {
			return precondition("reservation_id", "reservation %s has used up its revisions", c.r.ID)
		}
		c.r.Revision++
	}
	c.r.UpdatedAt = c.b.Now
	c.write()
	return c.err
}

// endBudget ends the budget hold of a reservation that has ended with every cost known. Until then it stays whole.
func (c *change) endBudget() {
	if c.r.State.Open() || c.r.Budget == Ended {
		return
	}
	for l := range c.lines {
		if l.Cost == nil {
			return
		}
	}
	if c.budget.Held < c.r.Asked.Budget {
		c.fail(broken("budget of provider %s holds less than reservation %s", c.provider.ID, c.r.ID))
		return
	}
	c.budget.Held -= c.r.Asked.Budget
	c.heldChange -= c.r.Asked.Budget
	c.r.Budget = Ended
}

// countUncertain keeps the provider's count of uncertain reservations.
func (c *change) countUncertain() {
	switch {
	case c.was != Uncertain && c.r.State == Uncertain:
		c.provider.UncertainInFlight++
	case c.was == Uncertain && c.r.State != Uncertain:
		c.provider.UncertainInFlight--
	default:
		return
	}
	if c.provider.UncertainInFlight < 0 {
		c.fail(broken("provider %s has fewer uncertain reservations than none", c.provider.ID))
	}
	c.b.providers.save(c.provider.ID)
}

// write saves the drafts that moved and appends the entry.
func (c *change) write() {
	c.b.reservations.save(c.r.ID)
	if *c.account != c.before {
		c.b.accounts.save(c.account.ID)
	}
	if c.heldChange != 0 || c.spentChange != 0 {
		c.b.budgets.save(c.budget.Key)
	}
	ended := c.was.Open() && !c.r.State.Open()
	if ended {
		c.b.providers.save(c.provider.ID)
	}
	e := Entry{
		EventKey: reservationKey(c.r, c.created, ended), Type: c.event, Account: c.account.ID,
		Reservation: c.r.ID, Revision: c.r.Revision, BudgetHeldChange: c.heldChange, SpentChange: c.spentChange,
		Detail: c.detail, CreatedAt: c.b.Now,
	}
	u := c.r.Taken.Unit
	if before, after := *c.before.balance(u), *c.account.balance(u); before != after {
		e.Movement = &Movement{Unit: u, Before: before, After: after}
	}
	c.b.appended.add(e)
}

// view shows the reservation as the change leaves it. Evidence that moved no line is not on it.
func (c *change) view() View {
	lines := make([]Line, 0, len(c.r.Keys))
	for _, k := range c.r.Keys {
		if l := c.b.lines.standing(k); l != nil {
			lines = append(lines, *l)
		}
	}
	return NewView(*c.r, lines)
}
