package ledger

// Report is what a worker says of its submission.
type Report struct {
	Reservation ReservationID
	Key         RequestKey
	Knowledge   Knowledge // ACCEPTED, NOT_ACCEPTED, NOT_SENT, UNCERTAIN, SUCCEEDED or FAILED
	Token       Token     // of the permit, for NOT_SENT
	Task        TaskID
	Cost        *Money
	Cause       string
}

// Keys names the rows that the call needs.
func (in *Report) Keys() Keys {
	k := Keys{Reservations: []ReservationID{in.Reservation}, RequestKeys: []RequestKey{in.Key}}
	if in.Task != "" {
		k.Tasks = []TaskID{in.Task}
	}
	return k
}

// Report gives a line what its worker learnt. It asks for no end.
func (b *Book) Report(in Report) (Answer, error) {
	c, err := b.begin(in.Reservation)
	if err != nil {
		return Answer{}, err
	}
	c.detail.Observer, c.closing = ByWorker, closingFact(in.Knowledge)
	cl := &claim{name: string(in.Knowledge), key: in.Key, knowledge: in.Knowledge, task: in.Task, cost: in.Cost, cause: in.Cause}
	if l := b.lines.get(in.Key); l == nil {
		return c.restore(cl)
	} else if l.Reservation != c.r.ID {
		return c.refuse(cl, UnknownAttempt)
	}
	cl.line = b.lines.draft(in.Key)
	switch {
	case c.taskMismatch(cl.line, in.Task):
		return c.refuse(cl, TaskMismatch)
	case in.Knowledge == LineNotSent && cl.line.Token != in.Token:
		return c.refuse(cl, NotThePermitHolder)
	case in.Knowledge == LineNotSent:
		cl.line, cl.unsent = nil, cl.line
	case in.Knowledge == LineNotAccepted && cl.line.resent() && in.Cost != nil && in.Cost.Micros == 0:
		cl.cost = nil // that one POST cost nothing says nothing of the other
	}
	return c.settle(cl)
}

// closingFact names a report as the fact that lets a requested cancel go through, so that the same fact settled later is a replay.
func closingFact(k Knowledge) string {
	if k == LineFailed || k == LineNotAccepted {
		return string(OutcomeProviderFailed)
	}
	return string(k)
}

// restore journals a request that the ledger has forgotten, as one restored from a backup has: somebody sent it, so it is uncertain.
// Where that would stand beside another unresolved or succeeded generation, the attempt is unknown.
func (c *change) restore(cl *claim) (Answer, error) {
	if !c.r.State.Open() || c.alive() != nil || cl.knowledge == LineNotSent || c.b.taskTaken(c.r.Asked.Provider, cl.task) {
		return c.refuse(cl, UnknownAttempt)
	}
	l := c.addLine(Line{Key: cl.key, Kind: Generation, Knowledge: LineUncertain, UncertainCause: "UNKNOWN_TO_THE_LEDGER"})
	c.happened(EventReported)
	c.keep(l, cl.task, cl.cost)
	return c.applied()
}

func (b *Book) taskTaken(p ProviderID, task TaskID) bool {
	return task != "" && b.tasks.get(taskKey{p, task}) != nil
}
