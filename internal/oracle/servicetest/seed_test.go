package servicetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/oracle"
)

// bystander is the account, and the provider, of reservations that no call is about.
const bystander = "bystander"

// newStage makes a service and, for each cell, an account and a provider with what its terms say.
func newStage(t *testing.T, table *oracle.Table, cells []oracle.Cell, change func(*app.Config)) *stage {
	t.Helper()
	g := &stage{t: t, s: apptest.New(t, func(c *app.Config) { c.CallTimeout = time.Minute }, change)} // a busy machine
	g.turn(0)
	for i, cell := range cells {
		g.actors = append(g.actors, newActor(table, i, cell))
	}
	plain := &actor{name: bystander, terms: table.Terms["plain"]}
	plain.terms.CreditsAvailable, plain.terms.SlotLimit, plain.terms.MaxInFlight, plain.terms.BudgetLimit = 1e6, 1e6, 0, 1e9
	g.together(append([]*actor{plain}, g.actors...), func(ctx context.Context, a *actor) {
		if err := g.seed(ctx, a); err != nil {
			a.fault = "seed: " + err.Error()
		}
	})
	if plain.fault != "" {
		t.Fatal(plain.fault)
	}
	g.together(g.actors, func(ctx context.Context, a *actor) {
		if a.cell.Call.Part == oracle.ForeignKey {
			a.fault += g.journalElsewhere(ctx, a)
		}
	})
	return g
}

func (g *stage) seed(ctx context.Context, a *actor) error {
	b := a.terms
	provider := &settlementv1.PutProviderRequest{
		TenantId: apptest.Tenant, ProviderId: a.name, Currency: b.Currency, Enabled: true, MaxInFlight: b.MaxInFlight,
		PermitSeconds: &b.Permit, NotReceivedAfterSeconds: b.NotReceivedAfter, IdempotencyKeySeconds: b.IdempotencyKey,
		OutputCheckRequired: b.OutputCheckRequired, OutputRejectionCaptures: b.RejectionCaptures,
		BudgetPeriod: settlementv1.BudgetPeriod_BUDGET_PERIOD_NONE, BudgetLimitMicros: b.BudgetLimit,
	}
	if b.AuthoritativeObserver == "POLL" {
		provider.AuthoritativeObserver = settlementv1.Observer_OBSERVER_POLL
	}
	if _, err := g.s.Accounts.PutProvider(ctx, provider); err != nil {
		return err
	}
	if _, err := g.s.Accounts.PutAccount(ctx, &settlementv1.PutAccountRequest{
		TenantId: apptest.Tenant, AccountId: a.name, SlotLimit: b.SlotLimit,
	}); err != nil {
		return err
	}
	if b.FreeAttemptsAvailable > 0 {
		if _, err := g.s.Accounts.GrantFreeAttempts(ctx, &settlementv1.GrantFreeAttemptsRequest{
			TenantId: apptest.Tenant, AccountId: a.name, GrantId: "seed", Attempts: b.FreeAttemptsAvailable,
		}); err != nil {
			return err
		}
	}
	_, err := g.s.Accounts.GrantCredits(ctx, &settlementv1.GrantCreditsRequest{
		TenantId: apptest.Tenant, AccountId: a.name, GrantId: "seed", Credits: b.CreditsAvailable,
	})
	return err
}

// ofBystander makes a request that of the bystander, who waits for as long as may be.
func ofBystander(r *settlementv1.ReserveRequest) {
	r.AccountId, r.ProviderId = bystander, bystander
	ttl := int64(7 * 24 * time.Hour / time.Second)
	r.TtlSeconds = &ttl
}

// journalElsewhere has a reservation of somebody else journal the actor's foreign key.
func (g *stage) journalElsewhere(ctx context.Context, a *actor) string {
	r, err := g.s.Reservations.Reserve(ctx, apptest.Reserve(a.name+"-elsewhere", a.cast.RequestKey(oracle.ForeignKey), ofBystander))
	if err != nil || r.GetGranted() == nil {
		return fmt.Sprint("elsewhere: ", r.GetDenied(), err)
	}
	return ""
}
