package cases_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// noVerdict is every way in which a check gives none.
var noVerdict = []fakeprovider.Answer{
	fakeprovider.ErrorBefore, fakeprovider.ErrorAfter, fakeprovider.CutBefore, fakeprovider.CutAfter, fakeprovider.Garbage,
	fakeprovider.HangBefore, fakeprovider.HangAfter, fakeprovider.HoldBefore, fakeprovider.HoldAfter,
}

// noAnswer is every way in which the sender of a generation learns nothing for sure.
var noAnswer = append([]fakeprovider.Answer{fakeprovider.NoTaskID}, noVerdict...)

func checkedOutput(p *settlementv1.PutProviderRequest) { p.OutputCheckRequired = true }

// oneSlot lets the customer have one job at a time.
func (s *studio) oneSlot(t *testing.T) {
	t.Helper()
	req := &settlementv1.PutAccountRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: 1}
	if _, err := s.Accounts.PutAccount(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

// carry has one worker carry a job as far as it goes.
func (s *studio) carry(t *testing.T, name string, j job) *settlementv1.Reservation {
	t.Helper()
	if err := s.worker(name, j).carry(t.Context()); err != nil && !errors.Is(err, errParked) {
		t.Fatal(err)
	}
	return s.Get(t, j.id)
}

// TestAnUnavailableCheckFreesTheCustomerAndTheSlot has the only slot taken by a job whose check gives no verdict, before the generation or
// after it. Each next job gets the slot, and in the end the customer has all that it had.
func TestAnUnavailableCheckFreesTheCustomerAndTheSlot(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0, checkedOutput)
	defer s.Verify(t)
	s.oneSlot(t)
	before, held := s.Books(t), int64(0)
	for _, stage := range []settlementv1.Stage{apptest.Input, apptest.Output} {
		for n, answer := range noVerdict {
			j := job{id: fmt.Sprintf("%s-%s", stageWord(stage), answer), life: lifeTime, inputCheck: true, free: n%2 == 0}
			s.scriptCheck(j.checkOf(stage), fakeprovider.CheckScript{Answers: []fakeprovider.Answer{answer}})
			r := s.carry(t, "worker", j)
			wantEnd(t, r, endUnavailable)
			is(t, j.id+" stage", r.GetOutcome().GetStage(), stage)
			is(t, j.id+" credit", r.GetCredit().GetState(), settlementv1.CreditState_CREDIT_STATE_RETURNED)
			is(t, j.id+" slot", r.GetSlot(), settlementv1.SlotState_SLOT_STATE_RELEASED)
			// What the customer gets back says nothing about what the checker charges.
			is(t, j.id+" budget", r.GetBudget().GetState(), settlementv1.BudgetState_BUDGET_STATE_HELD)
			is(t, j.id+" unresolved", r.GetBudget().GetUnresolved(), true)
			held += r.GetBudget().GetHeld().GetAmountMicros()
			after := s.Books(t)
			before.BudgetHeld, before.Spent = held, after.Spent
			s.WantBooks(t, before)
		}
	}
	is(t, "paid generations", s.provider.Totals().Generations.Paid, int64(len(noVerdict)))
}

// TestNoUncheckedOutputIsOffered asks for the output of a succeeded generation before, without and after its check.
func TestNoUncheckedOutputIsOffered(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0, checkedOutput)
	defer s.Verify(t)
	withheld := func(what string, r *settlementv1.Reservation) {
		t.Helper()
		is(t, "output "+what, r.GetOutput(), settlementv1.Output_OUTPUT_WITHHELD)
	}
	for _, answer := range noVerdict {
		j := job{id: string(answer), life: lifeTime}
		s.scriptCheck(j.checkOf(apptest.Output), fakeprovider.CheckScript{Answers: []fakeprovider.Answer{answer}})
		s.stopAt(t, "begin OUTPUT", j)
		withheld("before the check", s.Get(t, j.id))
		skipped := s.Settle(t, j.id, j.generation(1), unchecked(nil))
		wantRefused(t, skipped, settlementv1.RefusedReason_REFUSED_REASON_OUTPUT_CHECK_REQUIRED)
		withheld("when somebody skips the check", skipped.GetReservation())
		proved := s.Reconcile(t, j.id, j.generation(1), apptest.Succeeded(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_NOT_REQUIRED, nil))
		wantRefused(t, proved, settlementv1.RefusedReason_REFUSED_REASON_OUTPUT_CHECK_REQUIRED)

		r := s.carry(t, "worker", j)
		wantEnd(t, r, endUnavailable)
		withheld("after the check gave no verdict", r)
		late := s.Settle(t, j.id, j.generation(1), apptest.Completed(nil), apptest.Checked(j.checkOf(apptest.Output)))
		is(t, "a late verdict", late.GetDisposition(), superseded)
		withheld("after a late verdict", late.GetReservation())
	}
	is(t, "paid generations", s.provider.Totals().Generations.Paid, int64(len(noVerdict)))
}

// TestHandlingTheSameRequestAgainSendsNoSecondPaidPOST has twenty workers, through two servers, handle one job at once, and more of them
// when it has ended and when the server has started anew. Provider and checker take no idempotency keys: they would charge again.
func TestHandlingTheSameRequestAgainSendsNoSecondPaidPOST(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0, checkedOutput)
	defer s.Verify(t)
	j := job{id: "J", life: lifeTime, inputCheck: true}
	servers := []*studio{s, s.replica(t)}
	for round := range 6 {
		var workers sync.WaitGroup
		for n := range 20 {
			w := servers[n%2].worker(fmt.Sprintf("worker-%d-%d", round, n), j)
			workers.Go(func() {
				if err := w.carry(t.Context()); err != nil && !errors.Is(err, errParked) {
					t.Error(err)
				}
			})
		}
		workers.Wait()
		if round == 4 {
			s.restart()
		}
	}
	wantEnd(t, s.Get(t, j.id), endCompleted)
	totals := s.provider.Totals()
	is(t, "paid POSTs of generations", totals.Generations.Received, 1)
	is(t, "paid POSTs of checks", totals.Checks.Received, 2)
}

// TestSettlingTheSameFailureTwiceReturnsCreditsOnce brings each failure twenty times at once, through two servers, and again after a restart.
func TestSettlingTheSameFailureTwiceReturnsCreditsOnce(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	defer s.Verify(t)
	servers := []*studio{s, s.replica(t)}
	before := s.Books(t)
	for _, failure := range []struct {
		name    string
		key     string
		outcome any
		end     settlementv1.OutcomeKind
	}{
		{"failed", "K1", apptest.Failed(apptest.Money(5)), endProviderFailed},
		{"unavailable", "", apptest.Unavailable(apptest.Input), endUnavailable},
		{"unavailable-free", "", apptest.Unavailable(apptest.Input), endUnavailable},
	} {
		s.Granted(t, failure.name, failure.key, ttl(seconds(lifeTime)), func(r *settlementv1.ReserveRequest) {
			if failure.name == "unavailable-free" {
				freeAttempt(r)
			}
		})
		answers := make(chan *settlementv1.SettleResponse, 20)
		for n := range cap(answers) {
			go func() {
				a, err := servers[n%2].Settlements.Settle(t.Context(), apptest.Settlement(failure.name, failure.key, failure.outcome))
				if err != nil {
					t.Error(err)
				}
				answers <- a
			}()
		}
		wantOneApplied(t, answers)
	}
	s.restart()
	is(t, "after a restart", s.Settle(t, "failed", "K1", apptest.Failed(apptest.Money(5))).GetDisposition(), replayed)
	before.Spent = 5
	s.WantBooks(t, before)
}

// TestAnUncertainGenerationStaysHeldForReconciliation has every kind of lost answer, and then everybody who would like the job to end:
// the customer, a checker, an impatient worker with a new key, the deadline and a restart. Only evidence ends it.
func TestAnUncertainGenerationStaysHeldForReconciliation(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	defer s.Verify(t)
	s.openWide(t)
	for _, answer := range noAnswer {
		j := job{id: string(answer), life: permitTime / 2}
		s.script(j.generation(1), answering(answer))
		s.stopAt(t, "look up", j)
		wantAllHeld(t, j.id+" after its answer was lost", s.Get(t, j.id))
		for _, outcome := range []any{apptest.Unavailable(apptest.Input), apptest.Rejected(apptest.Input, nil), apptest.Cancelled()} {
			a := s.Settle(t, j.id, "", outcome)
			is(t, j.id+" wanted to end", a.GetDisposition(), held)
			wantAllHeld(t, j.id+" when somebody wants it to end", a.GetReservation())
		}
		other := s.Begin(t, apptest.Submission(j.id, j.generation(2)))
		is(t, "a permit for another key", other.GetRefused(), settlementv1.PermitRefusal_PERMIT_REFUSAL_UNRESOLVED)
	}
	s.pass(permitTime / 2)
	s.restart()
	for _, answer := range noAnswer {
		s.Extend(t, string(answer), 1) // whatever call finds the deadline passed
		wantAllHeld(t, string(answer)+" past its deadline", s.Get(t, string(answer)))
	}
	s.provider.Release(job{id: string(fakeprovider.HoldBefore)}.generation(1)) // the request arrives late
	s.pass(permitTime + notReceivedTime)
	for _, answer := range noAnswer {
		s.closeByEvidence(t, job{id: string(answer)})
	}
}

// wantAllHeld finds a job uncertain and everything of it held.
func wantAllHeld(t *testing.T, what string, r *settlementv1.Reservation) {
	t.Helper()
	is(t, what+": state", r.GetState(), uncertain)
	is(t, what+": credit", r.GetCredit().GetState(), settlementv1.CreditState_CREDIT_STATE_HELD)
	is(t, what+": slot", r.GetSlot(), settlementv1.SlotState_SLOT_STATE_HELD)
	is(t, what+": budget", r.GetBudget().GetState(), settlementv1.BudgetState_BUDGET_STATE_HELD)
	is(t, what+": output", r.GetOutput(), settlementv1.Output_OUTPUT_WITHHELD)
}

// closeByEvidence has the provider asked until the job has ended: completed where the generation ran, else cancelled as the customer wished.
func (s *studio) closeByEvidence(t *testing.T, j job) {
	t.Helper()
	end, posts := endCancelled, s.provider.Counts(j.generation(1)).Generations
	if posts.Paid > 0 {
		end = endCompleted
	}
	a := s.investigate(t, s.Get(t, j.id))
	is(t, j.id+" evidence", a.GetDisposition(), applied)
	wantEnd(t, a.GetReservation(), end)
	is(t, j.id+" posts", posts.Received, 1)
}
