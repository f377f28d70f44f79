package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// Holds is where a job and its three holds stand, and what is left on the rows that the holds were taken from.
type Holds struct {
	State, Outcome, Output string

	Credit            string // HELD, CAPTURED or RETURNED
	Unit              string // CREDITS or FREE_ATTEMPTS
	Taken, Captured   int64
	CreditsAvailable  int64
	CreditsHeld       int64
	AttemptsAvailable int64
	AttemptsHeld      int64

	Slot       string // HELD or RELEASED
	SlotsInUse int64
	InFlight   int64

	Budget      string // HELD or ENDED
	BudgetHeld  int64
	BudgetSpent int64
}

// compare names what differs.
func (h Holds) compare(other Holds, left, right string) error {
	if h == other {
		return nil
	}
	var differences []string
	add := func(what string, a, b any) {
		if a != b {
			differences = append(differences, fmt.Sprintf("%s: %s %v, %s %v", what, left, a, right, b))
		}
	}
	add("state", h.State, other.State)
	add("outcome", h.Outcome, other.Outcome)
	add("output", h.Output, other.Output)
	add("credit hold", h.Credit, other.Credit)
	add("unit", h.Unit, other.Unit)
	add("taken", h.Taken, other.Taken)
	add("captured", h.Captured, other.Captured)
	add("credits available", h.CreditsAvailable, other.CreditsAvailable)
	add("credits held", h.CreditsHeld, other.CreditsHeld)
	add("free attempts available", h.AttemptsAvailable, other.AttemptsAvailable)
	add("free attempts held", h.AttemptsHeld, other.AttemptsHeld)
	add("slot hold", h.Slot, other.Slot)
	add("slots in use", h.SlotsInUse, other.SlotsInUse)
	add("in flight", h.InFlight, other.InFlight)
	add("budget hold", h.Budget, other.Budget)
	add("budget held", h.BudgetHeld, other.BudgetHeld)
	add("budget spent", h.BudgetSpent, other.BudgetSpent)
	return errors.New(strings.Join(differences, "; "))
}

// readHolds reads the job through the API and from the tables, which must agree.
func (j *job) readHolds(ctx context.Context) (Holds, error) {
	shown, err := j.askHolds(ctx)
	if err != nil {
		return Holds{}, err
	}
	stored, err := j.selectHolds(ctx)
	if err != nil {
		return shown, err
	}
	return shown, shown.compare(stored, "by API", "by SQL")
}

// compare reads the job and tells what differs from what is wanted of it, and whether the provider was paid more than once.
func (j *job) compare(ctx context.Context, w want) (Holds, int64, error) {
	var posts int64
	for _, key := range j.keys {
		posts += j.stage.config.Provider.Counts(key).Generations.Paid
	}
	got, err := j.readHolds(ctx)
	if err == nil {
		err = w.ended().compare(got, "wanted", "read")
	}
	if posts != w.posts {
		err = errors.Join(err, fmt.Errorf("paid POSTs: wanted %d, counted %d", w.posts, posts))
	}
	return got, posts, err
}

// askHolds asks the API.
func (j *job) askHolds(ctx context.Context) (Holds, error) {
	r, err := j.clients.reservations.GetReservation(ctx, &settlementv1.GetReservationRequest{TenantId: Tenant, ReservationId: j.reservation})
	if err != nil {
		return Holds{}, fmt.Errorf("get reservation: %w", err)
	}
	a, err := j.clients.accounts.GetAccount(ctx, &settlementv1.GetAccountRequest{TenantId: Tenant, AccountId: j.scenario.name})
	if err != nil {
		return Holds{}, fmt.Errorf("get account: %w", err)
	}
	p, err := j.clients.accounts.GetProvider(ctx, &settlementv1.GetProviderRequest{TenantId: Tenant, ProviderId: j.scenario.name})
	if err != nil {
		return Holds{}, fmt.Errorf("get provider: %w", err)
	}
	b, err := j.clients.accounts.GetBudget(ctx, &settlementv1.GetBudgetRequest{
		TenantId: Tenant, ProviderId: j.scenario.name, PeriodStart: r.GetReservation().GetBudget().GetPeriodStart(),
	})
	if err != nil {
		return Holds{}, fmt.Errorf("get budget: %w", err)
	}
	return shownHolds(r.GetReservation(), a.GetAccount(), p.GetProvider(), b.GetBudget()), nil
}

func shownHolds(r *settlementv1.Reservation, a *settlementv1.Account, p *settlementv1.Provider, b *settlementv1.Budget) Holds {
	h := Holds{
		State: word(r.State, "RESERVATION_STATE_"), Output: word(r.Output, "OUTPUT_"),
		Credit: word(r.Credit.State, "CREDIT_STATE_"), Unit: word(r.Credit.TakenUnit, "UNIT_"),
		Taken: r.Credit.Taken, Captured: r.Credit.Captured,
		CreditsAvailable: a.CreditsAvailable, CreditsHeld: a.CreditsHeld,
		AttemptsAvailable: a.FreeAttemptsAvailable, AttemptsHeld: a.FreeAttemptsHeld,
		Slot: word(r.Slot, "SLOT_STATE_"), SlotsInUse: a.SlotsInUse, InFlight: p.InFlight,
		Budget: word(r.Budget.State, "BUDGET_STATE_"), BudgetHeld: b.HeldMicros, BudgetSpent: b.SpentMicros,
	}
	if r.Outcome != nil {
		h.Outcome = word(r.Outcome.Kind, "OUTCOME_KIND_")
	}
	return h
}

// holdsQuery reads the same from the tables. The output is not stored: it follows from the state and the journal.
const holdsQuery = `
SELECT r.state, coalesce(r.outcome_kind, ''),
	CASE
		WHEN r.state = 'COMPLETED' THEN 'RELEASABLE'
		WHEN EXISTS (SELECT FROM lines l WHERE l.tenant_id = r.tenant_id AND l.reservation_id = r.reservation_id AND l.kind = 'GENERATION'
			AND l.knowledge IN ('PERMITTED', 'UNCERTAIN', 'ACCEPTED', 'SUCCEEDED')) THEN 'WITHHELD'
		ELSE 'NONE'
	END,
	r.credit_state, r.taken_unit, r.taken_amount, r.credits_captured,
	a.credits_available, a.credits_held, a.free_attempts_available, a.free_attempts_held,
	r.slot_state, a.slots_in_use, p.in_flight,
	r.budget_state, b.held_micros, b.spent_micros
FROM reservations r
JOIN accounts a USING (tenant_id, account_id)
JOIN providers p USING (tenant_id, provider_id)
JOIN budgets b USING (tenant_id, provider_id, period_start)
WHERE r.tenant_id = $1 AND r.reservation_id = $2`

func (j *job) selectHolds(ctx context.Context) (h Holds, err error) {
	err = j.stage.config.Database.QueryRow(ctx, holdsQuery, Tenant, j.reservation).Scan(
		&h.State, &h.Outcome, &h.Output,
		&h.Credit, &h.Unit, &h.Taken, &h.Captured,
		&h.CreditsAvailable, &h.CreditsHeld, &h.AttemptsAvailable, &h.AttemptsHeld,
		&h.Slot, &h.SlotsInUse, &h.InFlight,
		&h.Budget, &h.BudgetHeld, &h.BudgetSpent)
	if err != nil {
		return Holds{}, fmt.Errorf("read the tables: %w", err)
	}
	return h, nil
}
