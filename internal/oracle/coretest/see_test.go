package coretest

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/oracle"
)

// see looks at everything that the call of a cell may move, and at the rest.
func (g *stage) see() oracle.Seen {
	s := g.store
	seen := oracle.Seen{View: g.view(), Balances: g.balances(), Revision: -1, Rows: g.rows()}
	if r, found := s.reservations[subject]; found {
		seen.Revision = int64(r.Revision)
	}
	for _, e := range s.entries {
		if e.Reservation == subject {
			seen.Events = append(seen.Events, string(e.Type))
		}
	}
	for _, e := range s.exceptions {
		seen.Exceptions = append(seen.Exceptions, slices.Repeat([]string{string(e.Reason)}, int(e.Count))...)
	}
	return seen
}

func (g *stage) balances() oracle.Balances {
	a, p, b := g.store.accounts[account], g.store.providers[provider], g.store.budgets[ledger.BudgetKey{Provider: provider, PeriodStart: noPeriod}]
	return oracle.Balances{
		CreditsAvailable: int64(a.Credits.Available), CreditsHeld: int64(a.Credits.Held),
		FreeAttemptsAvailable: int64(a.FreeAttempts.Available), FreeAttemptsHeld: int64(a.FreeAttempts.Held),
		SlotsInUse: a.SlotsInUse, InFlight: p.InFlight, UncertainInFlight: p.UncertainInFlight,
		BudgetHeld: int64(b.Held), BudgetSpent: int64(b.Spent),
	}
}

// rows are all rows of the store but exceptions, and without the last evidence of lines.
func (g *stage) rows() any {
	s := *g.store
	s.now, s.exceptions, s.lines = time.Time{}, nil, maps.Clone(s.lines)
	for k, l := range s.lines {
		l.Evidence = nil
		s.lines[k] = l
	}
	return s
}

// view shows the subject as the page would.
func (g *stage) view() oracle.View {
	out := oracle.View{}
	if _, made := g.store.reservations[another]; made {
		out[oracle.Another] = "RESERVED"
	}
	if r, found := g.store.reservations[subject]; found {
		maps.Copy(out, g.show(ledger.NewView(r, g.store.journal(subject))))
	}
	return out
}

// show turns a view of the core into one of the page.
func (g *stage) show(v ledger.View) oracle.View {
	out := oracle.View{
		oracle.State: string(v.State), oracle.Credit: string(v.Credit), oracle.Slot: string(v.Slot), oracle.Budget: string(v.Budget),
		oracle.Output: string(v.Output), oracle.Deadline: since(v.Deadline),
	}
	if o := v.Outcome; o != nil {
		out[oracle.Outcome] = string(o.Kind)
		if o.Stage != "" && o.Kind != ledger.OutcomeCancelled {
			out[oracle.Outcome] += ":" + string(o.Stage)
		}
	}
	if v.Credit == ledger.Captured && v.Captured < v.Taken.Amount {
		out[oracle.Credit] += ":" + strconv.FormatInt(int64(v.Captured), 10)
	}
	mark(out, oracle.Overdue, "MARKED", !v.OverdueSince.IsZero())
	mark(out, oracle.Cancel, "ASKED", !v.CancelRequestedAt.IsZero())
	for _, part := range oracle.Parts {
		i := slices.IndexFunc(v.Lines, func(l ledger.Line) bool { return string(l.Key) == g.cast.RequestKey(part) })
		if i >= 0 {
			showLine(out, part, v.Lines[i])
		}
	}
	return out
}

func showLine(out oracle.View, part oracle.Part, l ledger.Line) {
	out[string(part)] = string(l.Knowledge)
	out[part.Permit()] = since(l.PermitExpiresAt)
	if l.Cost != nil {
		out[part.Cost()] = strconv.FormatInt(int64(*l.Cost), 10)
	}
	mark(out, part.Task(), "KNOWN", l.Task != "")
	mark(out, part.Resent(), "YES", !l.ResentAt.IsZero())
	mark(out, part.Evidence(), "KEPT", l.Evidence != nil && l.Evidence.Kind == string(ledger.ProofStillUnknown))
}

func mark(out oracle.View, name, value string, is bool) {
	if is {
		out[name] = value
	}
}

// since shows a time as seconds since the first step.
func since(t time.Time) string { return strconv.FormatInt(int64(t.Sub(start)/time.Second), 10) }

// status shows an error as the page would.
func status(err error) oracle.Answer {
	var e *ledger.Error
	if !errors.As(err, &e) {
		return oracle.Answer{Word: err.Error()}
	}
	codes := map[ledger.ErrorKind]string{
		ledger.NotFound: "NOT_FOUND", ledger.AlreadyExists: "ALREADY_EXISTS", ledger.Invalid: "INVALID_ARGUMENT",
		ledger.Precondition: "FAILED_PRECONDITION", ledger.Broken: "INTERNAL",
	}
	return oracle.Answer{Word: "STATUS", Code: codes[e.Kind], Field: e.Field}
}
