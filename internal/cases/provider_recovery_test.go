package cases_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// stopAt has a worker carry a job until it would have an effect of this name, and be killed there.
func (s *studio) stopAt(t *testing.T, effect string, j job) {
	t.Helper()
	w := s.worker("stopped", j)
	w.hook.before = func(_ int, next string) error {
		if next == effect {
			return errKilled
		}
		return nil
	}
	if err := w.carry(t.Context()); !errors.Is(err, errKilled) {
		t.Fatalf("%s was to be stopped at %q: %v", j.id, effect, err)
	}
}

// The jobs that are stuck: at a check before the generation, at the generation, and at a check behind it.
var (
	atInput      = job{id: "at-the-input", life: lifeTime, inputCheck: true}
	atGeneration = job{id: "at-the-generation", life: lifeTime}
	atOutput     = job{id: "at-the-output", life: lifeTime}
	stuckJobs    = []job{atInput, atGeneration, atOutput}
)

// TestRecoveryAfterARestartKeepsTheOriginalJournal leaves jobs stuck, restarts the server and recovers what may be recovered.
// The journal is the one from before, with costs that are as unknown as they were, and no external request was made.
func TestRecoveryAfterARestartKeepsTheOriginalJournal(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0, checkedOutput)
	defer s.Verify(t)
	s.scriptCheck(atInput.checkOf(apptest.Input), fakeprovider.CheckScript{Answers: []fakeprovider.Answer{fakeprovider.HangAfter}})
	s.script(atGeneration.generation(1), answering(fakeprovider.HangAfter))
	s.stopAt(t, "settle", atInput)
	s.stopAt(t, "settle", atOutput)
	s.stopAt(t, "report", atGeneration)
	before := s.stuck(t)
	s.pass(checkTime)
	s.restart()
	wantEnd(t, s.carry(t, "recovery", atInput), endUnavailable)
	wantEnd(t, s.carry(t, "recovery", atOutput), endUnavailable)
	unsure := s.Settle(t, atGeneration.id, "", apptest.Unavailable(apptest.Input)) // nobody may say that this one failed
	wantAnswer(t, unsure, held, processing)
	if diff := cmp.Diff(before, s.stuck(t), protocmp.Transform()); diff != "" {
		t.Errorf("the provider's side changed (-before +after):\n%s", diff)
	}
	is(t, "slots in use", s.Books(t).Slots, 1)

	// Later the statement tells, and the request that was never answered is found.
	wantEnd(t, s.carry(t, "recovery", atGeneration), endCompleted)
	s.read()
	for _, j := range stuckJobs {
		s.bill(t, s.Get(t, j.id))
	}
	s.wantAgreement(t)
	s.WantBooks(t, apptest.Books{Credits: apptest.Credits - 10, Attempts: apptest.Attempts, Spent: 2*generationCost + 3*checkCost})
}

// stuck is the provider's side of the stuck jobs: their journals, what the budget holds and has spent for them, and the POSTs that were sent.
func (s *studio) stuck(t *testing.T) map[string]any {
	t.Helper()
	books, totals := s.Books(t), s.provider.Totals()
	found := map[string]any{
		"held": books.BudgetHeld, "spent": books.Spent, "generations": totals.Generations.Received, "checks": totals.Checks.Received,
	}
	for _, j := range stuckJobs {
		found[j.id] = s.Get(t, j.id).GetLines()
	}
	return found
}
