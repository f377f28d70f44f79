package coretest

import (
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/oracle"
)

// The rows that every situation has, and the ids of its reservations.
const (
	account  = ledger.AccountID("account")
	provider = ledger.ProviderID("provider")
	subject  = ledger.ReservationID("subject") // the reservation that a situation is about
	another  = ledger.ReservationID("another") // the one that asks for everything
	stranger = "stranger"                      // the other account, its provider and its reservation
)

// stage is a situation: the store as its steps left it, and who plays which part.
type stage struct {
	situation *oracle.Situation
	terms     oracle.Terms
	cast      *oracle.Cast
	store     *store
}

// set takes the steps of a situation.
func set(t *testing.T, table *oracle.Table, situation *oracle.Situation) *stage {
	t.Helper()
	g := &stage{situation: situation, terms: table.Terms[situation.Terms], cast: oracle.NewCast("c"), store: newStore()}
	g.seed(t)
	for _, step := range situation.Steps {
		g.store.wait(step.Wait)
		if step.Call == nil {
			continue
		}
		if answer := g.make(step.Call); answer.Word == "STATUS" || answer.Word == "REFUSED" || answer.Word == "DENIED" {
			t.Fatalf("%s: the step %s was answered %s", situation.Name, step.Call.Name, answer)
		}
		g.cast.Promote(g.view())
	}
	return g
}

// seed makes the accounts and providers, and the stranger's reservation with its journaled key.
func (g *stage) seed(t *testing.T) {
	t.Helper()
	b := g.terms
	g.store.accounts[account] = ledger.Account{
		ID: account, SlotLimit: b.SlotLimit,
		Credits:      ledger.Balance{Available: ledger.Amount(b.CreditsAvailable)},
		FreeAttempts: ledger.Balance{Available: ledger.Amount(b.FreeAttemptsAvailable)},
	}
	p := ledger.Provider{
		ID: provider, Currency: b.Currency, MaxInFlight: b.MaxInFlight, Enabled: true, BudgetPeriod: ledger.NoPeriod,
		BudgetLimit: ledger.Micros(b.BudgetLimit),
		Policy: ledger.Policy{
			PermitSeconds: b.Permit, NotReceivedAfterSeconds: b.NotReceivedAfter, IdempotencyKeySeconds: b.IdempotencyKey,
			OutputCheckRequired: b.OutputCheckRequired, OutputRejectionCaptures: b.RejectionCaptures,
		},
	}
	if b.AuthoritativeObserver == "POLL" {
		p.Policy.AuthoritativeObserver = ledger.ByPoll
	}
	g.store.providers[provider] = p
	p.ID = stranger
	g.store.providers[stranger] = p
	g.store.accounts[stranger] = ledger.Account{ID: stranger, Credits: ledger.Balance{Available: 10}, SlotLimit: 1}
	_, err := decide(g.store, func(book *ledger.Book) (ledger.ReserveAnswer, error) {
		return book.Reserve(ledger.Reserve{
			ID: stranger, Token: "token", TTLSeconds: b.MaxAge, MaxAgeSeconds: b.MaxAge,
			Asked: ledger.Asked{
				Account: stranger, Provider: stranger, Currency: b.Currency, SubmissionKey: ledger.RequestKey(g.cast.RequestKey(oracle.ForeignKey)),
				Funding: ledger.Funding{Kind: ledger.FundCredits, Credits: 10}, Budget: 200,
			},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// play makes the call of a cell on a copy of the stage, and returns what was seen before and after.
func (g *stage) play(call *oracle.Call) (before, after oracle.Seen, answer oracle.Answer, now int64) {
	h := *g
	h.store = g.store.clone()
	before = h.see()
	answer = h.make(call)
	return before, h.see(), answer, h.store.seconds()
}
