package ledger

import (
	"fmt"
	"strings"
)

// Answer tells what became of a fact: what was done with it, and the reservation as it stands now.
type Answer struct {
	Disposition Disposition
	Held        HeldReason // why, when HELD
	Refused     Reason     // why, when REFUSED
	View        View
	Exceptions  []ExceptionRef
}

// claim is what a call says of a reservation, whoever says it: a fact of its generation, a verdict's fact of its check, and perhaps an
// end that it asks for. Settle, ReportSubmission and Reconcile all become claims, and one function judges them.
type claim struct {
	name string     // what an exception calls it
	key  RequestKey // the line that an exception names

	line      *Line // the generation, or whatever line a report or evidence is of
	knowledge Knowledge
	task      TaskID
	cost      *Money
	cause     string

	check      *Line
	checkKnows Knowledge
	checkCost  *Money

	unsent    *Line // a generation whose permit holder says that it was never sent
	notHolder bool  // somebody says so who holds no permit of the reservation

	end           *Outcome // nil: the claim asks for no end
	ofGeneration  bool     // the end rests on what became of the named generation; another one needs that there is none
	outputChecked OutputCheck
}

// text is what makes copies of the claim one exception.
func (cl *claim) text() string {
	parts := []string{cl.name}
	if cl.end != nil && cl.end.Stage != "" {
		parts = append(parts, string(cl.end.Stage))
	}
	if cl.end != nil && cl.end.Charge != nil {
		parts = append(parts, fmt.Sprintf("charge %d", *cl.end.Charge))
	}
	if cl.task != "" {
		parts = append(parts, "task "+string(cl.task))
	}
	if cost := cl.anyCost(); cost != nil {
		parts = append(parts, costFact(*cost))
	}
	return strings.Join(parts, " ")
}

func (cl *claim) anyCost() *Money {
	if cl.cost != nil {
		return cl.cost
	}
	return cl.checkCost
}

func costFact(m Money) string { return fmt.Sprintf("cost %d %s", m.Micros, m.Currency) }

// taskMismatch tells whether the claim's task id contradicts the journal: the line has another, or another line has it.
func (c *change) taskMismatch(l *Line, task TaskID) bool {
	if task == "" || l == nil || l.Task == task {
		return false
	}
	return l.Task != "" || c.b.tasks.get(taskKey{l.Provider, task}) != nil
}

// conflict tells whether one of the claim's facts cannot be true beside what is known.
func (cl *claim) conflict() bool {
	return cl.line != nil && cl.line.judge(cl.knowledge) == conflicts ||
		cl.check != nil && cl.check.judge(cl.checkKnows) == conflicts ||
		cl.unsent != nil && cl.unsent.judge(LineNotSent) == conflicts
}

// learnAll gives the lines the claim's facts, none of which conflicts.
func (c *change) learnAll(cl *claim) {
	if cl.unsent != nil {
		c.learn(cl.unsent, LineNotSent, "", nil)
	}
	if cl.check != nil {
		c.learn(cl.check, cl.checkKnows, "", cl.checkCost)
	}
	if cl.line != nil {
		if cl.knowledge == LineUncertain && cl.line.judge(cl.knowledge) == grows {
			cl.line.UncertainCause, c.detail.Cause = cl.cause, cl.cause
		}
		if cl.knowledge == LineAccepted && cl.line.Knowledge.neverRan() {
			// Somebody was told that this request never ran, and a retry may be under way.
			c.except(ConflictingFact, cl.key, cl.text(), cl.cost)
		}
		c.learn(cl.line, cl.knowledge, cl.task, cl.cost)
	}
}

// keepAll records first-known costs and task ids of a claim that is otherwise not applied.
func (c *change) keepAll(cl *claim) {
	if cl.check != nil {
		c.keep(cl.check, "", cl.checkCost)
	}
	if cl.line != nil {
		c.keep(cl.line, cl.task, cl.cost)
	}
}

// refuse answers that the reservation cannot take the claim, and files it. The two refusals that blame the question and not the fact
// leave no exception.
func (c *change) refuse(cl *claim, reason Reason) (Answer, error) {
	if reason != TooEarly && reason != NotAGeneration {
		c.except(reason, cl.key, cl.text(), cl.anyCost())
	}
	return c.answer(Answer{Disposition: Refused, Refused: reason})
}

// applied answers that the claim stands: by this call if it moved anything, else already.
func (c *change) applied() (Answer, error) {
	if c.moved {
		return c.answer(Answer{Disposition: Applied})
	}
	return c.answer(Answer{Disposition: Replayed})
}

// answer commits the change and shows the reservation.
func (c *change) answer(a Answer) (Answer, error) {
	if err := c.commit(); err != nil {
		return Answer{}, err
	}
	a.View, a.Exceptions = c.view(), c.exceptions
	return a, nil
}

// settle judges a claim whose identity is established, in the documented order of precedence.
func (c *change) settle(cl *claim) (Answer, error) {
	if !c.r.State.Open() {
		return c.settleEnded(cl)
	}
	if cl.ofGeneration && c.detail.Observer == ByCallback && c.r.Policy.AuthoritativeObserver == ByPoll {
		c.keepAll(cl)
		return c.answer(Answer{Disposition: Holding, Held: AwaitingPoll})
	}
	if reason := c.objection(cl); reason != "" {
		c.keepAll(cl)
		return c.refuse(cl, reason)
	}
	if cl.end != nil && !cl.ofGeneration && c.stale(cl.unsent) {
		return c.hold(cl)
	}
	c.learnAll(cl)
	if cl.end == nil {
		return c.applied()
	}
	// Nothing stands in the way of the end any more: from here on the call must succeed.
	c.end(*cl.end)
	return c.applied()
}

// objection finds the first reason for which an open reservation cannot take a claim.
func (c *change) objection(cl *claim) Reason {
	switch {
	case cl.notHolder:
		return NotThePermitHolder
	case cl.ofGeneration && c.stale(cl.line):
		return StaleAttempt
	case cl.conflict():
		return ConflictingFact
	case cl.end == nil:
		return ""
	case cl.outputChecked == CheckNotRequired && c.r.Policy.OutputCheckRequired:
		return OutputCheckRequired
	case cl.end.Charge == nil:
		return ""
	case c.r.Taken.Unit == FreeAttempts:
		return ChargeNotApplicable
	case *cl.end.Charge > c.r.Taken.Amount:
		return ChargeExceedsHold
	}
	return ""
}

// stale tells whether another attempt than the given one, or any if that is nil, is unresolved or succeeded.
func (c *change) stale(l *Line) bool {
	other := c.alive()
	return other != nil && (l == nil || other.Key != l.Key)
}

// hold keeps everything for reconciliation: a paid request may be alive, or its result is there to be settled. The first cancel leaves
// its intent; a verdict is not taken for one before it is one, but what it cost is known.
func (c *change) hold(cl *claim) (Answer, error) {
	c.keepAll(cl)
	if cl.end.Kind == OutcomeCancelled && c.r.CancelRequestedAt.IsZero() {
		c.r.CancelRequestedAt, c.r.CancelReason = c.b.Now, cl.end.Cause
		c.detail.Cause = cl.end.Cause
		c.happened(EventCancelRequested)
	}
	return c.answer(Answer{Disposition: Holding, Held: GenerationUnsettled})
}

// settleEnded lets lines and costs of an ended reservation grow. The end itself stands: another one that is asked for is superseded, and
// kept as an exception; so is the same one by another attempt, which cannot be true as well.
func (c *change) settleEnded(cl *claim) (Answer, error) {
	conflict := cl.conflict()
	otherEnd := cl.end != nil && (!c.r.Outcome.same(cl.end) || cl.ofGeneration && cl.line.judge(cl.knowledge) == conflicts)
	if conflict {
		c.keepAll(cl)
	} else {
		c.learnAll(cl)
	}
	switch {
	case cl.end == nil && conflict:
		return c.refuse(cl, ConflictingFact)
	case cl.end == nil:
		return c.applied()
	case otherEnd:
		c.except(SupersededOutcome, cl.key, cl.text(), cl.anyCost())
		return c.answer(Answer{Disposition: Superseded})
	case conflict:
		c.except(ConflictingFact, cl.key, cl.text(), cl.anyCost())
	}
	return c.applied()
}
