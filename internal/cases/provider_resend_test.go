package cases_test

import (
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// TestAResendWithinTheWindowIsPaidOnce loses the answer to a POST, and sends it again under its own key as long as the provider knows the
// key, up to the very end of that time. The provider names the same task each time and charges once.
func TestAResendWithinTheWindowIsPaidOnce(t *testing.T) {
	t.Parallel()
	s := newStudio(t, windowTime)
	defer s.Verify(t)
	j := job{id: "J", life: lifeTime}
	key := j.generation(1)
	s.script(key, answering(fakeprovider.CutAfter))
	s.stopAt(t, "begin", j)
	began := time.Now()
	s.Permitted(t, apptest.Submission(j.id, key))
	s.submit(t.Context(), key, fakeprovider.Generation{Input: j.id})
	s.Report(t, j.id, key, apptest.Unsure())

	for _, wait := range []time.Duration{0, permitTime, windowTime - permitTime - permitTime/2} {
		s.pass(wait)
		p := s.Permitted(t, apptest.Resend(j.id, key))
		is(t, "kind of permit", p.GetKind(), settlementv1.PermitKind_PERMIT_KIND_RESEND)
		left := windowTime - s.passed
		if most := min(permitTime, left).Milliseconds(); p.GetExpiresInMs() > most || p.GetExpiresInMs() < most-time.Since(began).Milliseconds() {
			t.Errorf("with %v of the window left a permit lives %d ms", left, p.GetExpiresInMs())
		}
		s.submit(t.Context(), key, fakeprovider.Generation{Input: j.id})
	}
	unsent := s.Report(t, j.id, key, apptest.Unsent(key)) // the first worker cannot speak for the others
	wantRefused(t, unsent, conflicting)

	s.pass(permitTime / 2)
	late := s.Begin(t, apptest.Resend(j.id, key))
	is(t, "the line after the window", late.GetAlreadyGranted().GetKnowledge(), lineUncertain)
	counts := s.provider.Counts(key).Generations
	is(t, "POSTs", counts.Received, 4)
	is(t, "of them paid", counts.Paid, 1)
	wantEnd(t, s.carry(t, "worker", j), endCompleted)
	is(t, "resends", s.Entries(t, j.id, "RESENT"), 3)
	is(t, "POSTs in the end", s.provider.Counts(key).Generations.Received, 4)
	is(t, "spent", s.Books(t).Spent, generationCost)
}

// TestWithoutIdempotencyKeysNothingIsSentTwice finds no permit for a second POST, however the first went, and the job ends all the same.
func TestWithoutIdempotencyKeysNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	defer s.Verify(t)
	s.openWide(t)
	for _, answer := range noAnswer {
		j := job{id: string(answer), life: lifeTime}
		key := j.generation(1)
		s.script(key, answering(answer))
		s.stopAt(t, "look up", j)
		for _, ask := range []*settlementv1.BeginSubmissionRequest{apptest.Resend(j.id, key), apptest.Submission(j.id, key)} {
			is(t, j.id+" again", s.Begin(t, ask).GetAlreadyGranted().GetKnowledge(), lineUncertain)
		}
		is(t, j.id+" POSTs", s.provider.Counts(key).Generations.Received, 1)
	}
	s.pass(permitTime + notReceivedTime)
	for _, answer := range noAnswer {
		j := job{id: string(answer), life: lifeTime}
		ran := s.provider.Counts(j.generation(1)).Generations.Paid
		s.investigate(t, s.Get(t, j.id))
		wantEnd(t, s.carry(t, "worker", j), endCompleted)
		is(t, j.id+" paid again", s.provider.Counts(j.generation(2)).Generations.Paid, 1-ran)
	}
}

// TestARefusalAllowsASecondAttempt has the provider refuse a request and charge for that, and do another one under a new key. What is
// said of the first one later touches nothing of the second.
func TestARefusalAllowsASecondAttempt(t *testing.T) {
	t.Parallel()
	s := newStudio(t, windowTime)
	defer s.Verify(t)
	j := job{id: "J", life: lifeTime}
	refusing := answering(fakeprovider.Refuse)
	refusing.Refusal = fakeprovider.Refusal{CostMicros: 7}
	s.script(j.generation(1), refusing)
	s.script(j.generation(2), fakeprovider.GenerationScript{End: fakeprovider.TaskPending})
	r := s.carry(t, "worker", j)
	is(t, "state", r.GetState(), processing)
	wantLine(t, r, j.generation(1), lineNotAccepted)
	wantLine(t, r, j.generation(2), lineAccepted)
	is(t, "spent so far", s.Books(t).Spent, 7)

	again := s.Begin(t, apptest.Resend(j.id, j.generation(1)))
	is(t, "the refused line", again.GetAlreadyGranted().GetKnowledge(), lineNotAccepted)
	third := s.Begin(t, apptest.Submission(j.id, j.generation(3)))
	is(t, "a third key", third.GetRefused(), settlementv1.PermitRefusal_PERMIT_REFUSAL_UNRESOLVED)
	stale := s.Settle(t, j.id, j.generation(1), apptest.Failed(nil))
	wantRefused(t, stale, staleAttempt)
	wantLine(t, stale.GetReservation(), j.generation(2), lineAccepted)

	if err := s.provider.Finish(j.generation(2), fakeprovider.TaskSucceeded); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, s.carry(t, "another-worker", j), endCompleted)
	s.WantBooks(t, apptest.Books{Credits: apptest.Credits - 10, Attempts: apptest.Attempts, Spent: 7 + generationCost})
}
