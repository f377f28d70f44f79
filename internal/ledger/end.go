package ledger

// end gives an open reservation its outcome: the customer's credit and slot go back or are captured, at once and once. The budget hold
// follows its own rule, in commit: what the customer gets back says nothing about what the provider charged.
func (c *change) end(o Outcome) {
	succeeded := false
	if l := c.alive(); l != nil {
		succeeded = l.Knowledge == LineSucceeded
	}
	if !c.r.CancelRequestedAt.IsZero() && !succeeded {
		o = c.cancelledBy(o)
	}
	if o.Observer == "" {
		o.Observer = c.detail.Observer
	}
	o.SettledAt = c.b.Now
	captured := c.captured(o)
	if err := c.release(captured); err != nil {
		c.fail(err)
		return
	}
	c.r.State, c.r.Outcome, c.r.Captured = o.Kind.state(), &o, captured
	c.r.Slot = Released
	c.r.Credit = Returned
	if captured > 0 || o.Kind == OutcomeCompleted || o.Kind == OutcomePolicyRejected && c.capturesRejection(o) {
		c.r.Credit = Captured
	}
	c.describe(o)
	c.happened(EventType(o.Kind))
}

// cancelledBy turns the fact that leaves a reservation without a generation into the cancel that was asked for before.
func (c *change) cancelledBy(fact Outcome) Outcome {
	o := Outcome{
		Kind: OutcomeCancelled, Cause: c.r.CancelReason, Observer: fact.Observer, ClosedBy: c.closing,
		Stage: fact.Stage, Code: fact.Code, Categories: fact.Categories,
	}
	if fact.Kind != OutcomeCancelled {
		o.ClosedBy = string(fact.Kind)
	}
	return o
}

// captured is what the customer pays under an outcome.
func (c *change) captured(o Outcome) Amount {
	switch {
	case o.Kind == OutcomeCompleted && o.Charge != nil:
		return *o.Charge
	case o.Kind == OutcomeCompleted, o.Kind == OutcomePolicyRejected && c.capturesRejection(o):
		return c.r.Taken.Amount
	default:
		return 0
	}
}

func (c *change) capturesRejection(o Outcome) bool {
	return o.Stage == OutputStage && c.r.Policy.OutputRejectionCaptures
}

// release takes the reservation's credit and slot out of what is held.
func (c *change) release(captured Amount) error {
	balance := c.account.balance(c.r.Taken.Unit)
	switch {
	case balance.Held < c.r.Taken.Amount:
		return broken("account %s holds less than reservation %s", c.account.ID, c.r.ID)
	case c.account.SlotsInUse < 1:
		return broken("account %s has no slot in use for reservation %s", c.account.ID, c.r.ID)
	case c.provider.InFlight < 1:
		return broken("provider %s has nothing in flight for reservation %s", c.provider.ID, c.r.ID)
	}
	balance.Held -= c.r.Taken.Amount
	balance.Available += c.r.Taken.Amount - captured
	c.account.SlotsInUse--
	c.provider.InFlight--
	return nil
}

// describe puts an outcome into the entry of its change.
func (c *change) describe(o Outcome) {
	c.detail.Stage, c.detail.Cause, c.detail.Code = o.Stage, o.Cause, o.Code
	c.detail.Categories, c.detail.Charge, c.detail.ClosedBy = o.Categories, o.Charge, o.ClosedBy
	c.detail.Observer = o.Observer
}
