package ledger

// Proof is one piece of evidence about a line.
type Proof struct {
	Reservation ReservationID
	Key         RequestKey
	Kind        ProofKind
	Task        TaskID
	Cost        *Money
	OutputCheck OutputCheck // of SUCCEEDED, for a generation
	TTLSeconds  *int64      // of ACCEPTED, or of a resume after NOT_RECEIVED
	Reason      string      // why it was given up, or the cause why it is still unknown
	Source      Source
}

// ProofKind names what evidence proves.
type ProofKind string

// The kinds of evidence.
const (
	ProofAccepted       ProofKind = "ACCEPTED"
	ProofNotReceived    ProofKind = "NOT_RECEIVED"
	ProofSucceeded      ProofKind = "SUCCEEDED"
	ProofFailed         ProofKind = "FAILED"
	ProofCostConfirmed  ProofKind = "COST_CONFIRMED"
	ProofNothingCharged ProofKind = "NOTHING_CHARGED"
	ProofGivenUp        ProofKind = "GIVEN_UP"
	ProofStillUnknown   ProofKind = "STILL_UNKNOWN"
)

// Keys names the rows that the call needs.
func (in *Proof) Keys() Keys {
	k := Keys{Reservations: []ReservationID{in.Reservation}}
	if in.Task != "" {
		k.Tasks = []TaskID{in.Task}
	}
	return k
}

// ttlField is what the request calls the time that the evidence asks for.
func (in *Proof) ttlField() string {
	if in.Kind == ProofAccepted {
		return "evidence.accepted.ttl_seconds"
	}
	return "evidence.not_received.resume.ttl_seconds"
}

// Reconcile closes what is uncertain by evidence. Only definite evidence ends a hold.
func (b *Book) Reconcile(in Proof) (Answer, error) {
	c, err := b.begin(in.Reservation)
	if err != nil {
		return Answer{}, err
	}
	c.detail.Observer, c.detail.Source = ByReconciliation, &in.Source
	if in.TTLSeconds != nil && *in.TTLSeconds > c.r.MaxAgeSeconds {
		return Answer{}, invalid(in.ttlField(), "must be at most %d, the maximum age of the reservation", c.r.MaxAgeSeconds)
	}
	cl := &claim{name: string(in.Kind), key: in.Key, task: in.Task, cost: in.Cost}
	l := b.lines.get(in.Key)
	if l == nil || l.Reservation != c.r.ID {
		return c.refuse(cl, UnknownAttempt)
	}
	cl.line = b.lines.draft(in.Key)
	if c.taskMismatch(cl.line, in.Task) {
		return c.refuse(cl, TaskMismatch)
	}
	if l.Kind == Moderation && (in.Kind == ProofGivenUp || in.OutputCheck != "" || in.TTLSeconds != nil) {
		return c.refuse(cl, NotAGeneration)
	}
	return c.prove(in, cl)
}

// prove turns each kind of evidence into a claim and has it judged.
func (c *change) prove(in Proof, cl *claim) (Answer, error) {
	switch in.Kind {
	case ProofStillUnknown:
		return c.stillUnknown(in, cl)
	case ProofCostConfirmed, ProofNothingCharged:
		return c.confirmCost(in, cl)
	case ProofAccepted:
		return c.proveAccepted(in, cl)
	case ProofNotReceived:
		return c.proveNotReceived(in, cl)
	case ProofGivenUp:
		return c.giveUp(in, cl)
	case ProofFailed:
		cl.knowledge = LineFailed
		if cl.line.Kind == Generation {
			cl.ofGeneration = true
			cl.end = &Outcome{Kind: OutcomeProviderFailed, Code: in.Reason}
			if cl.line.Knowledge.neverRan() {
				cl.knowledge = ""
			}
		}
	case ProofSucceeded:
		cl.knowledge = LineSucceeded
		if cl.line.Kind == Generation {
			if err := cl.succeed(in.OutputCheck); err != nil {
				return Answer{}, err
			}
		}
	default:
		return Answer{}, broken("evidence of kind %q", in.Kind)
	}
	c.note(in, cl.line)
	return c.settle(cl)
}

// succeed gives a proven generation the end that its output check leads to.
func (cl *claim) succeed(check OutputCheck) error {
	cl.outputChecked = check
	switch check {
	case CheckPassed, CheckNotRequired:
		cl.end = &Outcome{Kind: OutcomeCompleted}
	case CheckRejected:
		cl.end = &Outcome{Kind: OutcomePolicyRejected, Stage: OutputStage}
	case CheckUnavailable:
		cl.end = &Outcome{Kind: OutcomeModerationUnavailable, Stage: OutputStage}
	case CheckNotDone:
		return nil
	default:
		return invalid("evidence.succeeded.output_check", "is required for a generation")
	}
	cl.ofGeneration = true
	return nil
}

// note keeps the evidence on its draft, which stands if the claim moves the line.
func (c *change) note(in Proof, l *Line) {
	l.Evidence = &Evidence{Kind: string(in.Kind), Cause: in.Reason, Source: in.Source, RecordedAt: c.b.Now}
}

// stillUnknown keeps what was tried as the line's last evidence. It is neither a revision nor an event.
func (c *change) stillUnknown(in Proof, cl *claim) (Answer, error) {
	if cl.line.Knowledge.Final() {
		return c.answer(Answer{Disposition: Replayed})
	}
	c.note(in, cl.line)
	c.b.lines.save(cl.line.Key)
	return c.answer(Answer{Disposition: Applied})
}

// confirmCost makes a line's cost known, once, in any state.
func (c *change) confirmCost(in Proof, cl *claim) (Answer, error) {
	cost := Money{0, c.r.Asked.Currency}
	if in.Kind == ProofCostConfirmed {
		cost = *in.Cost
	}
	c.note(in, cl.line)
	if reason := c.recordCost(cl.line, cost); reason != "" {
		return c.answer(Answer{Disposition: Refused, Refused: reason})
	}
	return c.applied()
}

// proveAccepted learns that the provider has the request, and gives it the time that the evidence asks for.
func (c *change) proveAccepted(in Proof, cl *claim) (Answer, error) {
	cl.knowledge = LineAccepted
	c.note(in, cl.line)
	if in.TTLSeconds != nil && !cl.line.Knowledge.Final() && c.r.State.Open() {
		c.rejuvenate(*in.TTLSeconds)
	}
	return c.settle(cl)
}

// tooEarly tells whether the request may still arrive: its permit, or the time that the provider may take to receive it, is not over.
func (c *change) tooEarly(l *Line) bool {
	return c.b.Now.Before(l.PermitExpiresAt.Add(seconds(c.r.Policy.NotReceivedAfterSeconds)))
}

// proveNotReceived learns that the provider never got the request. The job fails, unless another attempt of it may be alive, or is open
// again with a new deadline, unless its cancel was requested.
func (c *change) proveNotReceived(in Proof, cl *claim) (Answer, error) {
	if cl.line.judge(LineNotReceived) == grows && c.tooEarly(cl.line) {
		return c.refuse(cl, TooEarly)
	}
	cl.knowledge, c.closing = LineNotReceived, string(OutcomeNotReceived)
	c.note(in, cl.line)
	switch {
	case cl.line.Kind == Moderation:
	case in.TTLSeconds == nil && c.r.State.Open() && c.stale(cl.line):
	case in.TTLSeconds == nil:
		cl.ofGeneration, cl.end = true, &Outcome{Kind: OutcomeNotReceived}
	case c.r.State.Open() && c.r.CancelRequestedAt.IsZero() && cl.line.judge(LineNotReceived) == grows:
		c.happened(EventResumed)
		c.rejuvenate(*in.TTLSeconds)
	}
	return c.settle(cl)
}

// giveUp is an operator's verdict on an open reservation whose generation stays unresolved: the customer is made whole, the line and its
// budget stay.
func (c *change) giveUp(in Proof, cl *claim) (Answer, error) {
	cl.end = &Outcome{Kind: OutcomeGivenUp, Cause: in.Reason}
	cl.ofGeneration = true
	if c.r.State.Open() {
		switch {
		case cl.line.Knowledge.Final():
			return c.refuse(cl, ConflictingFact)
		case c.tooEarly(cl.line):
			return c.refuse(cl, TooEarly)
		}
		c.note(in, cl.line)
		c.b.lines.save(cl.line.Key)
	}
	return c.settle(cl)
}
