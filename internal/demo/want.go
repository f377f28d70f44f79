package demo

// want is what must have become of a job. The rest of Holds follows from it and from what every scenario starts with.
type want struct {
	state, outcome string
	freeAttempt    bool  // paid by the free attempt, not by credits
	captured       int64 // of what was taken; the rest goes back
	fleet          int   // jobs that end so, beside one that goes on; 0 where there is but one job
	budgetHeld     bool  // a cost is unknown, so the budget hold stays whole
	spent          int64
	output         string
	posts          int64 // generations that the provider accepted and billed: never more than one for a job
}

// ended is where everything stands when the job is over.
func (w want) ended() Holds {
	h := w.start()
	h.State, h.Outcome, h.Output = w.state, w.outcome, w.output
	h.Credit, h.Captured = "RETURNED", w.captured
	if w.captured > 0 {
		h.Credit = "CAPTURED"
	}
	if w.freeAttempt {
		h.AttemptsAvailable -= w.captured
	} else {
		h.CreditsAvailable -= w.captured
	}
	h.Slot, h.Budget, h.BudgetSpent = "RELEASED", "ENDED", w.spent
	if w.budgetHeld {
		h.Budget, h.BudgetHeld = "HELD", budgetTaken
	}
	if w.fleet > 0 {
		h.CreditsAvailable, h.CreditsHeld = h.CreditsAvailable+fleetCredits-creditsTaken, creditsTaken
		h.SlotsInUse, h.InFlight, h.BudgetHeld = 1, 1, int64(w.fleet+1)*budgetTaken
	}
	return h
}

// open is where everything stands while the job is open with a generation that may be alive: all three are held.
func (w want) open(state string) Holds {
	h := w.start()
	h.State, h.Output = state, "WITHHELD"
	h.Credit, h.Slot, h.Budget = "HELD", "HELD", "HELD"
	if w.freeAttempt {
		h.AttemptsAvailable, h.AttemptsHeld = h.AttemptsAvailable-h.Taken, h.Taken
	} else {
		h.CreditsAvailable, h.CreditsHeld = h.CreditsAvailable-h.Taken, h.Taken
	}
	h.SlotsInUse, h.InFlight, h.BudgetHeld = 1, 1, budgetTaken
	return h
}

// start is what was granted, and what the job asks for.
func (w want) start() Holds {
	h := Holds{CreditsAvailable: creditsGranted, AttemptsAvailable: attemptsGranted, Unit: "CREDITS", Taken: creditsTaken}
	if w.freeAttempt {
		h.Unit, h.Taken = "FREE_ATTEMPTS", 1
	}
	return h
}
