package ledger

// Settlement is an outcome that somebody saw.
type Settlement struct {
	Reservation  ReservationID
	Key          RequestKey // of the generation
	CheckKey     RequestKey // of the check whose verdict this is
	Task         TaskID     // of the generation, to bind the outcome to it
	Observer     Observer
	NotSent      Token // the permit holder's word that its generation was never sent
	Outcome      SettledOutcome
	Cost         *Money      // of the generation, or of an INPUT check
	OutputCheck  OutputCheck // of a completed one
	UncertainFor string      // the cause of an uncertain submission
}

// SettledOutcome is the end that a settlement asks for. An uncertain submission asks for none: its Kind is empty.
type SettledOutcome struct {
	Kind       OutcomeKind
	Stage      Stage
	Cause      string
	Code       string
	Categories []string
	Charge     *Amount
}

// Keys names the rows that the call needs.
func (in *Settlement) Keys() Keys {
	k := Keys{Reservations: []ReservationID{in.Reservation}}
	if in.Task != "" {
		k.Tasks = []TaskID{in.Task}
	}
	return k
}

// Check holds the keys against the outcome: what each outcome must name, and what it must not. What it refuses is malformed whatever stands,
// so nothing needs to be read for it.
func (in *Settlement) Check() error {
	kind, stage := in.Outcome.Kind, in.Outcome.Stage
	needsNone := kind == OutcomeCancelled || stage == InputStage
	switch {
	case in.Key == "" && !needsNone:
		return invalid("request_key", "is required: it names the generation that the outcome is of")
	case in.Cost != nil && stage == InputStage && in.CheckKey == "":
		return invalid("check_request_key", "is required with a cost: the cost of an INPUT verdict is the check's")
	case in.NotSent != "" && !needsNone:
		return invalid("not_sent", "goes with cancelled and with INPUT outcomes only")
	case in.Task != "" && in.Key == "":
		return invalid("request_key", "is required with provider_task_id")
	}
	return nil
}

// Settle ends a reservation with an outcome, exactly once, whoever saw it and however often.
func (b *Book) Settle(in Settlement) (Answer, error) {
	c, err := b.begin(in.Reservation)
	if err != nil {
		return Answer{}, err
	}
	c.detail.Observer = in.Observer
	cl := in.claim()
	if reason := c.identify(&in, cl); reason != "" {
		return c.refuse(cl, reason)
	}
	return c.settle(cl)
}

// claim turns an outcome into what it says of the lines and the end that it asks for.
func (in *Settlement) claim() *claim {
	o := in.Outcome
	cl := &claim{name: string(o.Kind), key: in.Key, task: in.Task, cost: in.Cost, outputChecked: in.OutputCheck}
	if o.Kind == "" {
		cl.name, cl.knowledge, cl.cause = "SUBMISSION_UNCERTAIN", LineUncertain, in.UncertainFor
		return cl
	}
	cl.end = &Outcome{
		Kind: o.Kind, Stage: o.Stage, Cause: o.Cause, Code: o.Code, Categories: o.Categories,
		Charge: o.Charge, Observer: in.Observer,
	}
	switch {
	case o.Kind == OutcomeProviderFailed:
		cl.ofGeneration, cl.knowledge = true, LineFailed
	case o.Kind == OutcomeCompleted, o.Stage == OutputStage:
		cl.ofGeneration, cl.knowledge = true, LineSucceeded
	default: // the cost of an INPUT verdict is the check's
		cl.cost, cl.checkCost = nil, in.Cost
	}
	if o.Kind == OutcomePolicyRejected || o.Kind == OutcomeCompleted && in.OutputCheck == CheckPassed {
		cl.checkKnows = LineSucceeded
	}
	if cl.key == "" {
		cl.key = in.CheckKey
	}
	return cl
}

// identify finds the lines that a settlement names. Identity is the reservation and its line, never a key alone.
func (c *change) identify(in *Settlement, cl *claim) Reason {
	if in.Key != "" {
		if cl.line = c.line(in.Key, Generation); cl.line == nil {
			return UnknownAttempt
		}
	}
	if in.CheckKey != "" {
		cl.check = c.line(in.CheckKey, Moderation)
		stage := in.Outcome.Stage
		if cl.check == nil || stage != "" && cl.check.Stage != stage {
			return UnknownAttempt
		}
	}
	if c.taskMismatch(cl.line, in.Task) {
		return TaskMismatch
	}
	if in.NotSent != "" {
		cl.name += " NOT_SENT"
		cl.unsent = c.permitHeldBy(in.NotSent)
		cl.notHolder = cl.unsent == nil
		if !cl.notHolder && cl.key == "" {
			cl.key = cl.unsent.Key
		}
	}
	if cl.ofGeneration && cl.knowledge == LineFailed && cl.line.Knowledge.neverRan() {
		cl.knowledge = "" // it ended without a generation already: that is no second fact
	}
	return ""
}

// permitHeldBy returns the generation whose permit the token holds, or nil.
func (c *change) permitHeldBy(token Token) *Line {
	for l := range c.lines {
		if l.Kind == Generation && l.Token == token {
			return c.b.lines.draft(l.Key)
		}
	}
	return nil
}
