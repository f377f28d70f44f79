package ledger

import "time"

// Expiry is what became of a reservation that was looked at for its deadline.
type Expiry struct {
	Changed bool // this look ended it or marked it overdue
	View    View
}

// Expire judges the deadline of a reservation, as every other call does on its way.
func (b *Book) Expire(id ReservationID) (Expiry, error) {
	r := b.reservations.get(id)
	if r == nil {
		return Expiry{}, notFound("reservation_id", "reservation %s", id)
	}
	before := r.Revision
	c, err := b.begin(id)
	if err != nil {
		return Expiry{}, err
	}
	return Expiry{Changed: c.r.Revision != before, View: c.view()}, nil
}

// expire applies a passed deadline. A permit that nobody reported on may have been used: its line becomes uncertain. A reservation
// with an unsettled generation is marked overdue, once, and held; any other has ended.
func (c *change) expire() error {
	c.detail.Observer = ByExpiry
	l := c.alive()
	if l == nil {
		c.end(Outcome{Kind: OutcomeExpired, Observer: ByExpiry})
		return c.commit()
	}
	if l.Knowledge == LinePermitted {
		d := c.b.lines.draft(l.Key)
		d.Knowledge, d.UncertainCause = LineUncertain, "DEADLINE_PASSED"
		c.touch(d)
	}
	c.r.OverdueSince = c.b.Now
	c.happened(EventOverdue)
	return c.commit()
}

// ExtendAnswer is a reservation with its deadline pushed out, or the reason why it was not.
type ExtendAnswer struct {
	Refused ExtendRefusal
	View    View
}

// Extend pushes the deadline of an open reservation out to ttl seconds from now, and clears its overdue mark. It never brings a
// deadline forward.
func (b *Book) Extend(id ReservationID, ttlSeconds int64) (ExtendAnswer, error) {
	c, err := b.begin(id)
	if err != nil {
		return ExtendAnswer{}, err
	}
	deadline := b.Now.Add(seconds(ttlSeconds))
	switch {
	case !c.r.State.Open():
		return ExtendAnswer{Refused: ExtendNotOpen, View: c.view()}, nil
	case deadline.After(c.r.DeadlineMax):
		return ExtendAnswer{Refused: BeyondMaximumAge, View: c.view()}, nil
	}
	if deadline.After(c.r.Deadline) {
		c.setDeadline(ttlSeconds)
	}
	if err := c.commit(); err != nil {
		return ExtendAnswer{}, err
	}
	return ExtendAnswer{View: c.view()}, nil
}

// setDeadline gives the reservation a new deadline and clears its overdue mark.
func (c *change) setDeadline(ttlSeconds int64) {
	c.r.Deadline, c.r.OverdueSince = c.b.Now.Add(seconds(ttlSeconds)), time.Time{}
	c.happened(EventExtended)
}

// rejuvenate gives the reservation a new deadline and counts its maximum age from now.
func (c *change) rejuvenate(ttlSeconds int64) {
	c.setDeadline(ttlSeconds)
	c.r.DeadlineMax = c.b.Now.Add(seconds(c.r.MaxAgeSeconds))
}
