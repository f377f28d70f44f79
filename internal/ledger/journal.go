package ledger

import "slices"

// lines are the reservation's journal as the call sees it. They are not for changing.
func (c *change) lines(yield func(*Line) bool) {
	for _, k := range c.r.Keys {
		if l := c.b.lines.get(k); l != nil && !yield(l) {
			return
		}
	}
}

// line returns a draft of the reservation's line under the key, or nil where the key names none of that kind.
func (c *change) line(key RequestKey, kind LineKind) *Line {
	l := c.b.lines.get(key)
	if l == nil || l.Reservation != c.r.ID || l.Kind != kind {
		return nil
	}
	return c.b.lines.draft(key)
}

// alive returns the generation that is unresolved or succeeded, or nil.
func (c *change) alive() *Line {
	for l := range c.lines {
		if l.alive() {
			return l
		}
	}
	return nil
}

// addLine journals a request.
func (c *change) addLine(l Line) *Line {
	l.Reservation, l.Provider = c.r.ID, c.r.Asked.Provider
	l.Attempt = c.nextAttempt(l.Kind, l.Stage)
	l.PermittedAt, l.UpdatedAt = c.b.Now, c.b.Now
	l.PermitExpiresAt = c.b.Now.Add(seconds(c.r.Policy.PermitSeconds))
	if n := c.r.Policy.IdempotencyKeySeconds; n > 0 {
		used := c.b.Now
		if l.broughtBack() {
			used = c.r.CreatedAt // it may have been sent as soon as there was a reservation, and the provider forgets it so much earlier
		}
		l.ResendUntil = used.Add(seconds(n))
	}
	added := c.b.lines.add(l.Key, l)
	place := len(c.r.Keys)
	for place > 0 && ByPermit(*c.b.lines.get(c.r.Keys[place-1]), l) > 0 {
		place--
	}
	c.r.Keys = slices.Insert(slices.Clip(c.r.Keys), place, l.Key)
	c.touch(added)
	return added
}

// nextAttempt is the number of a new line: that of the resolved ones before it, plus 1. A line beside an unresolved one would have the number
// of that one, which the database refuses, whatever the rules said: nobody escapes uncertainty with a new key.
func (c *change) nextAttempt(kind LineKind, stage Stage) int32 {
	attempt := int32(1)
	for l := range c.lines {
		if l.Kind == kind && l.Stage == stage && l.Knowledge.Final() {
			attempt++
		}
	}
	return attempt
}

// touch marks a line as changed by the call.
func (c *change) touch(l *Line) {
	l.UpdatedAt = c.b.Now
	c.b.lines.save(l.Key)
	c.detail.RequestKey, c.detail.Knowledge = l.Key, l.Knowledge
}
