package demo

import (
	"context"
	"fmt"
	"slices"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	fake "github.com/settlementd/settlementd/internal/fakeprovider"
)

const (
	fleetSize    = 12  // jobs that are stuck behind a check
	fleetChunk   = 4   // of them are released in one transaction
	fleetCredits = 100 // granted besides, as the account pays for many jobs
)

// fleets are many jobs at once, which an operator repairs.
func fleets() []scenario {
	return []scenario{{
		name: "stuck-fleet", title: "a stuck fleet, repaired", permitSeconds: calm,
		provider: func(p *settlementv1.PutProviderRequest) { p.BudgetLimitMicros = budgetTaken * (fleetSize + 1) },
		steps:    []step{repaired},
		want:     want{state: "FAILED", outcome: "MODERATION_UNAVAILABLE", fleet: fleetSize, budgetHeld: true, output: "NONE", posts: 1},
	}}
}

// fleet is what a repair works on.
type fleet struct {
	*job
	stuck []string // the jobs whose check was never answered, by id
	runs  string   // a job that the provider has accepted
}

// repaired has an operator release a fleet with a reconciliation job, whose first drain is killed on the way.
func repaired(ctx context.Context, j *job) error {
	f := &fleet{job: j, runs: j.key("runs")}
	for i := range fleetSize {
		f.stuck = append(f.stuck, j.key(fmt.Sprintf("%02d", i+1)))
	}
	if err := f.strand(ctx); err != nil {
		return err
	}
	j.reservation = f.stuck[0] // shown for all: the others are compared here
	before, err := f.kept(ctx)
	if err != nil {
		return err
	}
	if err := f.approve(ctx); err != nil {
		return err
	}
	if err := f.drainKilled(ctx); err != nil {
		return err
	}
	if err := f.drainRest(ctx); err != nil {
		return err
	}
	if err := f.reported(ctx); err != nil {
		return err
	}
	if err := f.released(ctx); err != nil {
		return err
	}
	after, err := f.kept(ctx)
	if err == nil && after != before {
		err = fmt.Errorf("the repair has touched the journal or the running job:\n%+v\n%+v", before, after)
	}
	return err
}

// strand reserves the fleet, asks for checks that nobody answers, and has one job accepted.
func (f *fleet) strand(ctx context.Context) error {
	a, account := f.clients.accounts, f.scenario.name
	_, err := a.PutAccount(ctx, &settlementv1.PutAccountRequest{TenantId: Tenant, AccountId: account, SlotLimit: fleetSize + 1})
	if err == nil {
		_, err = a.GrantCredits(ctx, &settlementv1.GrantCreditsRequest{
			TenantId: Tenant, AccountId: account, GrantId: "fleet", Credits: fleetCredits,
		})
	}
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	for _, id := range append(slices.Clone(f.stuck), f.runs) {
		f.reservation = id
		if err := reserve(credits())(ctx, f.job); err != nil {
			return err
		}
		_, err := f.begin(ctx, &settlementv1.BeginSubmissionRequest{
			RequestKey: id + "/" + checkOf(onInput), Kind: &settlementv1.BeginSubmissionRequest_Moderation{
				Moderation: &settlementv1.ModerationSubmission{Stage: onInput, CheckTimeoutSeconds: 1},
			},
		}, settlementv1.PermitKind_PERMIT_KIND_GRANTED)
		if err != nil {
			return err
		}
	}
	return attempted("first", fake.Accepted)(ctx, f.job) // of the last one
}

// kept is what a repair must leave alone.
type kept struct {
	journal string // every line with its knowledge and cost
	running string // the accepted job
	spent   int64
	paid    int64 // POSTs of generations and of checks
}

func (f *fleet) kept(ctx context.Context) (k kept, err error) {
	err = f.stage.config.Database.QueryRow(ctx, `
		SELECT (SELECT string_agg(l::text, ' ' ORDER BY l.request_key) FROM lines l WHERE l.tenant_id = $1 AND l.provider_id = $2),
			(SELECT r::text FROM reservations r WHERE r.tenant_id = $1 AND r.reservation_id = $3),
			(SELECT sum(b.spent_micros)::bigint FROM budgets b WHERE b.tenant_id = $1 AND b.provider_id = $2)`,
		Tenant, f.scenario.name, f.runs).Scan(&k.journal, &k.running, &k.spent)
	if err != nil {
		return kept{}, fmt.Errorf("read the journal: %w", err)
	}
	keys := slices.Clone(f.keys)
	for _, id := range append(slices.Clone(f.stuck), f.runs) {
		keys = append(keys, id+"/"+checkOf(onInput))
	}
	for _, key := range keys {
		c := f.stage.config.Provider.Counts(key)
		k.paid += c.Generations.Paid + c.Checks.Paid
	}
	return k, nil
}

// released reads each job of the fleet: it has failed once, its customer has everything back, and its budget waits for the unknown cost.
func (f *fleet) released(ctx context.Context) error {
	for _, id := range f.stuck {
		a, err := f.clients.reservations.GetReservation(ctx, &settlementv1.GetReservationRequest{TenantId: Tenant, ReservationId: id})
		if err != nil {
			return fmt.Errorf("get reservation: %w", err)
		}
		r := a.GetReservation()
		got := []fmt.Stringer{r.GetState(), r.GetOutcome().GetKind(), r.GetCredit().GetState(), r.GetSlot(), r.GetBudget().GetState()}
		want := []fmt.Stringer{
			settlementv1.ReservationState_RESERVATION_STATE_FAILED, settlementv1.OutcomeKind_OUTCOME_KIND_MODERATION_UNAVAILABLE,
			settlementv1.CreditState_CREDIT_STATE_RETURNED, settlementv1.SlotState_SLOT_STATE_RELEASED, settlementv1.BudgetState_BUDGET_STATE_HELD,
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s: %v, want %v", id, got, want)
		}
	}
	var ends, jobs int
	err := f.stage.config.Database.QueryRow(ctx, `
		SELECT count(*), count(DISTINCT reservation_id) FROM entries
		WHERE tenant_id = $1 AND account_id = $2 AND event_type = 'MODERATION_UNAVAILABLE'`, Tenant, f.scenario.name).Scan(&ends, &jobs)
	if err == nil && (ends != fleetSize || jobs != fleetSize) {
		err = fmt.Errorf("%d ends of %d jobs, want one for each of %d", ends, jobs, fleetSize)
	}
	return err
}
