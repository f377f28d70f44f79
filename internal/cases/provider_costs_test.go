package cases_test

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// costly is everything that makes a cost known late, never, wrongly or twice.
func costly() []behaviour {
	told := func(name string, micros int64) behaviour {
		return behaviour{name: name, first: fakeprovider.GenerationScript{ToldCostMicros: &micros}, end: endCompleted}
	}
	all := []behaviour{
		told("told_less", 90), told("told_more", 250), told("told_nothing", 0),
		{name: "fails_free", first: fakeprovider.GenerationScript{End: fakeprovider.TaskFailed, ToldCostMicros: new(int64(0))}, end: endProviderFailed},
		{name: "above_its_hold", first: fakeprovider.GenerationScript{CostMicros: new(int64(12_345))}, end: endCompleted},
		{name: "check_lies", input: fakeprovider.CheckScript{ToldCostMicros: new(int64(1))}, end: endCompleted},
		{name: "check_is_silent", input: fakeprovider.CheckScript{HideCost: true}, end: endCompleted},
		{name: "check_is_lost", input: fakeprovider.CheckScript{Answers: []fakeprovider.Answer{fakeprovider.CutAfter}}, end: endUnavailable},
		{name: "check_rejects", input: fakeprovider.CheckScript{Categories: []string{"violence"}}, end: endRejected},
	}
	for _, b := range generating() {
		if b.name != "running" { // more polls than this test has workers
			all = append(all, b)
		}
	}
	return append(all, told("told_all_there_is", fakeprovider.AmountMax)) // the last: with so much spent nothing more is reserved
}

// TestTheLedgersCostsAreTheProvidersStatement plays everything that can happen to a cost, and then brings the statement: the ledger and the
// provider agree line by line, and on the sum.
func TestTheLedgersCostsAreTheProvidersStatement(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	defer s.Verify(t)
	s.openWide(t)
	var all []*play
	for _, b := range costly() {
		p := &play{by: b, how: undisturbed, job: job{id: b.name, life: lifeTime, inputCheck: true}}
		p.prepare(s)
		s.carry(t, "first-worker", p.job)
		all = append(all, p)
	}
	for _, name := range []string{string(fakeprovider.HoldBefore), string(fakeprovider.HoldAfter)} {
		s.provider.Release(job{id: name}.generation(1))
	}
	s.pass(permitTime + notReceivedTime)
	for _, p := range all {
		if r := s.Get(t, p.job.id); isOpen(r) {
			s.investigate(t, r)
		}
		wantEnd(t, s.carry(t, "second-worker", p.job), p.by.end)
	}
	s.read()
	for _, p := range all {
		s.bill(t, s.Get(t, p.job.id))
	}
	s.wantAgreement(t)
}

// wantAgreement compares the ledger with the statement: each line, the budget, and no hold left.
func (s *studio) wantAgreement(t *testing.T) {
	t.Helper()
	sum := int64(0)
	for key, micros := range s.statement {
		sum += micros
		known := postgrestest.Value[int64](s.DB, "SELECT coalesce(cost_micros, -1) + cost_adjustment_micros FROM lines WHERE request_key = $1", key)
		is(t, "cost of "+key, known, micros)
	}
	books := s.Books(t)
	is(t, "spent", books.Spent, sum)
	is(t, "held", books.BudgetHeld, 0)
	is(t, "costs on record", postgrestest.Value[int64](s.DB, "SELECT sum(cost_micros + cost_adjustment_micros)::bigint FROM lines"), sum)
	totals := s.provider.Totals()
	is(t, "the provider's counters", totals.Generations.ChargedMicros+totals.Checks.ChargedMicros, sum)
}

// TestACostThatNobodyCanHaveIsRefusedAndTheJobEnds has a provider tell a cost below zero or above all bounds. Nothing of such a call is
// written; told without it, the job ends, and the hold waits for the statement.
func TestACostThatNobodyCanHaveIsRefusedAndTheJobEnds(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	defer s.Verify(t)
	for name, told := range map[string]int64{"below-zero": -1, "above-all": fakeprovider.AmountMax + 1} {
		j := job{id: name, life: lifeTime}
		s.script(j.generation(1), fakeprovider.GenerationScript{ToldCostMicros: &told})
		s.stopAt(t, "settle", j)
		before := s.Copy(t)
		err := s.worker("worker", j).carry(t.Context())
		wantStatus(t, err, codes.InvalidArgument, "completed.cost.amount_micros")
		s.Unchanged(t, before)
		a := s.Settle(t, j.id, j.generation(1), unchecked(nil))
		wantEnd(t, wantAnswer(t, a, applied, completed), endCompleted)
		is(t, "unresolved", a.GetReservation().GetBudget().GetUnresolved(), true)
	}
	s.read()
	for _, id := range []string{"below-zero", "above-all"} {
		s.bill(t, s.Get(t, id))
	}
	s.wantAgreement(t)
}

// TestTheCostOfAJobGivenUpIsNotLost gives up on a generation that nobody finds, learns later that it ran, and gets the statement.
func TestTheCostOfAJobGivenUpIsNotLost(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	defer s.Verify(t)
	j := job{id: "J", life: lifeTime}
	key := j.generation(1)
	s.script(key, answering(fakeprovider.CutAfter))
	s.stopAt(t, "look up", j)
	s.pass(permitTime + notReceivedTime)
	wantEnd(t, s.Reconcile(t, j.id, key, apptest.GivenUp()).GetReservation(), endGivenUp)
	s.WantBooks(t, apptest.Books{Credits: apptest.Credits, Attempts: apptest.Attempts, BudgetHeld: 200})

	found := s.client.Lookup(t.Context(), key)
	a := s.Reconcile(t, j.id, key, evidenceOf(s.Get(t, j.id), found))
	is(t, "a late success", a.GetDisposition(), superseded)
	is(t, "output", a.GetReservation().GetOutput(), settlementv1.Output_OUTPUT_WITHHELD)
	if err := s.worker("worker", j).carry(t.Context()); err != nil && !errors.Is(err, errParked) {
		t.Error(err)
	}
	s.read()
	s.wantAgreement(t)
	s.WantBooks(t, apptest.Books{Credits: apptest.Credits, Attempts: apptest.Attempts, Spent: generationCost})
	is(t, "POSTs", s.provider.Totals().Generations.Received, 1)
}
