package coretest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/oracle"
)

// make makes a call of the page on the stage's store, and says its answer in the words of the page. An answer that shows another
// reservation than the one that stands is no word of the page.
func (g *stage) make(call *oracle.Call) oracle.Answer {
	g.store.wait(call.Wait)
	said := g.situation.Say(call, g.cast, g.terms)
	switch call.RPC {
	case "Reserve":
		return g.reserve(said)
	case "ExtendReservation":
		a, err := decide(g.store, func(b *ledger.Book) (ledger.ExtendAnswer, error) { return b.Extend(subject, *said.Number("ttl")) })
		return g.answered(a.View, err, orElse(oracle.Answer{Word: "RESERVATION"}, string(a.Refused)))
	case "BeginSubmission":
		return g.begin(said)
	case "ReportSubmission":
		in := report(said)
		a, err := decide(g.store, func(b *ledger.Book) (ledger.Answer, error) { return b.Report(in) })
		return g.disposed(a, err)
	case "Settle":
		in := settlement(said)
		if err := in.Check(); err != nil {
			return status(err)
		}
		a, err := decide(g.store, func(b *ledger.Book) (ledger.Answer, error) { return b.Settle(in) })
		return g.disposed(a, err)
	case "Reconcile":
		in := proof(said)
		a, err := decide(g.store, func(b *ledger.Book) (ledger.Answer, error) { return b.Reconcile(in) })
		return g.disposed(a, err)
	case "Sweep":
		return g.sweep()
	case "GetReservation":
		return g.get()
	}
	return oracle.Answer{Word: "no such rpc: " + call.RPC}
}

// answered says the answer of a call that shows the reservation.
func (g *stage) answered(shown ledger.View, err error, a oracle.Answer) oracle.Answer {
	if err != nil {
		return status(err)
	}
	stands := g.view()
	delete(stands, oracle.Another)
	if diff := cmp.Diff(stands, g.show(shown)); diff != "" {
		a.Word += fmt.Sprintf(", and shows what does not stand (-stands +shown):\n%s", diff)
	}
	return a
}

func orElse(a oracle.Answer, refused string) oracle.Answer {
	if refused != "" {
		return oracle.Answer{Word: "REFUSED", Reasons: []string{refused}}
	}
	return a
}

func (g *stage) disposed(a ledger.Answer, err error) oracle.Answer {
	out := oracle.Answer{Word: string(a.Disposition)}
	for _, reason := range []string{string(a.Held), string(a.Refused)} {
		if reason != "" {
			out.Reasons = append(out.Reasons, reason)
		}
	}
	for _, e := range a.Exceptions {
		if kept := g.store.exceptions[e.ID]; kept.Reason != e.Reason {
			out.Word += ", and names an exception that is not kept"
		}
	}
	return g.answered(a.View, err, out)
}

func (g *stage) reserve(said oracle.Said) oracle.Answer {
	in := ledger.Reserve{
		ID: subject, Token: ledger.Token(said.Token()), TTLSeconds: g.terms.TTL, MaxAgeSeconds: g.terms.MaxAge,
		Asked: ledger.Asked{
			Account: account, Provider: provider, Currency: g.terms.Currency, SubmissionKey: ledger.RequestKey(said.Key()),
			Budget:  ledger.Micros(said.Asked("budget", g.terms.Budget)),
			Funding: ledger.Funding{Kind: ledger.FundingKind(g.terms.Funding), Credits: ledger.Amount(said.Asked("credits", g.terms.Credits))},
		},
	}
	if said.Args["reservation"] == "another" {
		in.ID = another
	}
	a, err := decide(g.store, func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) })
	switch {
	case err != nil:
		return status(err)
	case len(a.Denied) > 0:
		return denied(a.Denied)
	}
	out := oracle.Answer{Word: "GRANTED", Permit: a.Permit != nil}
	if a.Replayed {
		out.Word = "REPLAYED"
	}
	if in.ID == another {
		return out
	}
	return g.answered(a.View, nil, out)
}

func denied(lacking []ledger.Denial) oracle.Answer {
	out := oracle.Answer{Word: "DENIED"}
	for _, d := range lacking {
		reason := string(d.Reason)
		if d.Reason == ledger.ProviderBusy {
			reason += fmt.Sprintf(":%d", d.Uncertain)
		}
		out.Reasons = append(out.Reasons, reason)
	}
	return out
}

func (g *stage) begin(said oracle.Said) oracle.Answer {
	in := ledger.BeginSubmission{
		Reservation: subject, Key: ledger.RequestKey(said.Key()), Token: ledger.Token(said.Token()), Kind: ledger.Generation,
		Resend: said.Args["resend"] == "YES",
	}
	if said.Fact == "moderation" {
		in.Kind, in.Stage, in.CheckTimeoutSeconds = ledger.Moderation, ledger.Stage(said.Stage()), g.terms.CheckTimeout
	}
	a, err := decide(g.store, func(b *ledger.Book) (ledger.PermitAnswer, error) { return b.BeginSubmission(in) })
	out := oracle.Answer{Word: "ALREADY_GRANTED"}
	if a.Permit != nil {
		out.Word = string(a.Permit.Kind)
	}
	return g.answered(a.View, err, orElse(out, string(a.Refused)))
}

// sweep looks for what is due, and judges the deadline of each.
func (g *stage) sweep() oracle.Answer {
	out := oracle.Answer{Word: "NOTHING"}
	for id, r := range g.store.reservations {
		if !r.State.Open() || g.store.now.Before(r.Deadline) || !r.OverdueSince.IsZero() {
			continue
		}
		if _, err := decide(g.store, func(b *ledger.Book) (ledger.Expiry, error) { return b.Expire(id) }); err != nil {
			return status(err)
		}
		out.Word = "SWEPT"
	}
	return out
}

func (g *stage) get() oracle.Answer {
	if _, found := g.store.reservations[subject]; !found {
		return oracle.Answer{Word: "STATUS", Code: "NOT_FOUND"}
	}
	return oracle.Answer{Word: "RESERVATION"}
}
