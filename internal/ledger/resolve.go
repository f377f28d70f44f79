package ledger

// Resolve is an operator's decision on an exception.
type Resolve struct {
	Exception   ExceptionID
	Reservation ReservationID // of the exception, looked up before
	Key         RequestKey    // likewise
	As          Resolution
	Reason      string
}

// ResolveAnswer is the exception as it stands, or the reason why it was not resolved as asked.
type ResolveAnswer struct {
	Refused   ResolveRefusal
	Replayed  bool
	Exception Exception
	View      View
}

// Keys names the rows that the call needs.
func (in *Resolve) Keys() Keys {
	return Keys{
		Reservations: []ReservationID{in.Reservation}, RequestKeys: []RequestKey{in.Key}, Exceptions: []ExceptionID{in.Exception},
	}
}

// Resolve dismisses an exception, or applies it: the cost that it states is made true by an adjusting entry, and the budget's spent moves
// by the difference. That is also how a wrong cost is put right.
func (b *Book) Resolve(in Resolve) (ResolveAnswer, error) {
	e := b.exceptions.draft(in.Exception)
	if e == nil {
		return ResolveAnswer{}, notFound("exception_id", "exception %s", in.Exception)
	}
	c, err := b.begin(e.Reservation)
	if err != nil {
		return ResolveAnswer{}, err
	}
	answer := ResolveAnswer{}
	switch {
	case e.Resolution == in.As:
		answer.Replayed = true
	case e.Resolution != ExceptionOpen:
		answer.Refused = AlreadyResolved
	case in.As == ExceptionApplied && !c.applicable(e):
		answer.Refused = NothingToApply
	default:
		e.Resolution, e.ResolutionReason, e.ResolvedAt = in.As, in.Reason, b.Now
		b.exceptions.save(e.ID)
		if in.As == ExceptionApplied {
			c.adjust(e)
		}
	}
	if err := c.commit(); err != nil {
		return ResolveAnswer{}, err
	}
	answer.Exception, answer.View = *e, c.view()
	return answer, nil
}

// applicable tells whether an exception states a cost that this reservation's budget can carry. The cost of a request that another
// reservation has sent is on record there.
func (c *change) applicable(e *Exception) bool {
	if e.Cost == nil || e.Cost.Currency != c.r.Asked.Currency || e.RequestKey == "" {
		return false
	}
	l := c.b.lines.get(e.RequestKey)
	return l == nil || l.Reservation == c.r.ID
}

// adjust makes the exception's cost true: it is the cost of its line where none is on record yet, and else the difference moves. An attempt
// that the ledger does not know is journaled as one that has ended: however many facts speak of it, its charge is spent once.
func (c *change) adjust(e *Exception) {
	c.detail.Exception, c.detail.Reason, c.detail.RequestKey = e.ID, e.ResolutionReason, e.RequestKey
	d := c.b.lines.draft(e.RequestKey)
	if d == nil {
		d = c.addLine(Line{Key: e.RequestKey, Kind: Generation, Knowledge: LineFailed, UncertainCause: "UNKNOWN_TO_THE_LEDGER"})
	}
	if d.Cost == nil {
		c.recordCost(d, *e.Cost)
		return
	}
	difference := e.Cost.Micros - *d.Cost - d.Adjustment
	d.Adjustment += difference
	c.touch(d)
	c.spend(difference)
	c.happened(EventAdjusted)
}
