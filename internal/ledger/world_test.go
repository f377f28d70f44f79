package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// world is a small ledger in memory: one account, one provider, one reservation, and a clock that tests turn.
type world struct {
	t    testing.TB
	book *Book
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t testing.TB, policy Policy) *world {
	if policy.PermitSeconds == 0 {
		policy.PermitSeconds = 30
	}
	return &world{t: t, book: Open(Rows{
		Now: start, Periods: map[ProviderID]time.Time{"prov": time.Unix(0, 0).UTC()},
		Accounts:  []Account{{ID: "acct", Credits: Balance{100, 0}, FreeAttempts: Balance{1, 0}, SlotLimit: 3}},
		Providers: []Provider{{ID: "prov", Currency: "USD", Enabled: true, BudgetLimit: 1000, Policy: policy}},
	})}
}

func (w *world) reserve(id ReservationID, key RequestKey) ReserveAnswer {
	w.t.Helper()
	a, err := Decide(w.book, func(b *Book) (ReserveAnswer, error) {
		return b.Reserve(Reserve{
			ID: id, Token: "token", TTLSeconds: 60, MaxAgeSeconds: 3600,
			Asked: Asked{Account: "acct", Provider: "prov", Funding: Funding{FundCredits, 10}, Budget: 200, Currency: "USD", SubmissionKey: key},
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// writer is one call on the reservation R.
type writer struct {
	name string
	do   func(b *Book) (string, error)
}

func settling(name string, in Settlement) writer {
	in.Reservation, in.Observer = "R", ByWorker
	return writer{"settle " + name, func(b *Book) (string, error) {
		a, err := b.Settle(in)
		return string(a.Disposition), err
	}}
}

func proving(name string, in Proof) writer {
	in.Reservation, in.Key, in.Source = "R", "K1", Source{Kind: "PROVIDER_API", Reference: "test"}
	return writer{"prove " + name, func(b *Book) (string, error) {
		a, err := b.Reconcile(in)
		return string(a.Disposition), err
	}}
}

func reporting(name string, in Report) writer {
	in.Reservation, in.Key = "R", "K1"
	return writer{"report " + name, func(b *Book) (string, error) {
		a, err := b.Report(in)
		return string(a.Disposition), err
	}}
}

func usd(n Micros) *Money { return &Money{n, "USD"} }

func writers() []writer {
	ttl := int64(120)
	failed := SettledOutcome{Kind: OutcomeProviderFailed, Code: "boom"}
	completed := SettledOutcome{Kind: OutcomeCompleted}
	input := SettledOutcome{Kind: OutcomePolicyRejected, Stage: InputStage}
	output := SettledOutcome{Kind: OutcomePolicyRejected, Stage: OutputStage}
	noInput := SettledOutcome{Kind: OutcomeModerationUnavailable, Stage: InputStage, Cause: "TIMEOUT"}
	noOutput := SettledOutcome{Kind: OutcomeModerationUnavailable, Stage: OutputStage, Cause: "TIMEOUT"}
	cancel := SettledOutcome{Kind: OutcomeCancelled, Cause: "changed my mind"}
	return []writer{
		settling("completed", Settlement{Key: "K1", OutputCheck: CheckPassed, Outcome: completed, Cost: usd(90)}),
		settling("completed, cost unknown", Settlement{Key: "K1", OutputCheck: CheckNotRequired, Outcome: completed}),
		settling("failed", Settlement{Key: "K1", Outcome: failed, Cost: usd(37)}),
		settling("failed, second attempt", Settlement{Key: "K2", Outcome: failed}),
		settling("rejected input", Settlement{Outcome: input}),
		settling("rejected output", Settlement{Key: "K1", Outcome: output, Cost: usd(180)}),
		settling("no input check", Settlement{Outcome: noInput}),
		settling("no input check, not sent", Settlement{Outcome: noInput, NotSent: "token"}),
		settling("no output check", Settlement{Key: "K1", Outcome: noOutput}),
		settling("cancelled", Settlement{Outcome: cancel}),
		settling("uncertain", Settlement{Key: "K1", UncertainFor: "TIMEOUT"}),
		reporting("accepted", Report{Knowledge: LineAccepted, Task: "T1"}),
		reporting("not accepted", Report{Knowledge: LineNotAccepted, Cost: usd(0)}),
		reporting("not sent", Report{Knowledge: LineNotSent, Token: "token"}),
		reporting("failed", Report{Knowledge: LineFailed, Cost: usd(5)}),
		reporting("succeeded", Report{Knowledge: LineSucceeded}),
		proving("accepted, ttl", Proof{Kind: ProofAccepted, Task: "T1", TTLSeconds: &ttl}),
		proving("not received", Proof{Kind: ProofNotReceived}),
		proving("not received, resume", Proof{Kind: ProofNotReceived, TTLSeconds: &ttl}),
		proving("succeeded, not checked", Proof{Kind: ProofSucceeded, OutputCheck: CheckNotDone, Cost: usd(90)}),
		proving("succeeded", Proof{Kind: ProofSucceeded, OutputCheck: CheckPassed}),
		proving("failed", Proof{Kind: ProofFailed}),
		proving("cost", Proof{Kind: ProofCostConfirmed, Cost: usd(12)}),
		proving("nothing charged", Proof{Kind: ProofNothingCharged}),
		proving("given up", Proof{Kind: ProofGivenUp, Reason: "support says no"}),
		proving("still unknown", Proof{Kind: ProofStillUnknown, Reason: "TIMEOUT"}),
		{"permit for a second attempt", func(b *Book) (string, error) {
			a, err := b.BeginSubmission(BeginSubmission{Reservation: "R", Key: "K2", Token: "token2", Kind: Generation})
			return string(a.Refused), err
		}},
		{"permit for a check", func(b *Book) (string, error) {
			a, err := b.BeginSubmission(BeginSubmission{Reservation: "R", Key: "C1", Token: "token3", Kind: Moderation, Stage: InputStage, CheckTimeoutSeconds: 5})
			return string(a.Refused), err
		}},
		{"resend", func(b *Book) (string, error) {
			a, err := b.BeginSubmission(BeginSubmission{Reservation: "R", Key: "K1", Token: "token4", Kind: Generation, Resend: true})
			return string(a.Refused), err
		}},
		{"extend", func(b *Book) (string, error) {
			a, err := b.Extend("R", 300)
			return string(a.Refused), err
		}},
		{"time passes", func(b *Book) (string, error) {
			b.Now = b.Now.Add(70 * time.Second)
			a, err := b.Expire("R")
			return fmt.Sprint(a.Changed), err
		}},
	}
}

// TestEveryOrderOfWriters plays every sequence of up to three calls on a reservation with and without a permit, and holds the books
// against each other after each call.
func TestEveryOrderOfWriters(t *testing.T) {
	all := writers()
	for _, key := range []RequestKey{"", "K1"} {
		for _, policy := range []Policy{{}, {IdempotencyKeySeconds: 600, OutputRejectionCaptures: true}} {
			for _, first := range all {
				for _, second := range all {
					for _, third := range all {
						play(t, policy, key, first, second, third)
					}
				}
			}
		}
	}
}

func play(t *testing.T, policy Policy, key RequestKey, calls ...writer) {
	t.Helper()
	w := newWorld(t, policy)
	w.reserve("R", key)
	var names []string
	for _, call := range calls {
		names = append(names, call.name)
		before := *w.book.reservations.get("R")
		_, err := Decide(w.book, call.do)
		if err != nil {
			t.Fatalf("key %q, %s: %v", key, strings.Join(names, ", "), err)
		}
		after := w.book.reservations.get("R")
		if !before.State.Open() && (after.State != before.State || after.Captured != before.Captured || after.Outcome != before.Outcome) {
			t.Fatalf("key %q, %s: an end changed from %v to %v", key, strings.Join(names, ", "), before.Outcome, after.Outcome)
		}
		if wrong := w.contradiction(); wrong != "" {
			t.Fatalf("key %q, %s: %s", key, strings.Join(names, ", "), wrong)
		}
	}
}

// contradiction recomputes what the rows must agree on, from the reservation, its lines and the entries.
func (w *world) contradiction() string {
	b := w.book
	r, a, p := b.reservations.get("R"), b.accounts.get("acct"), b.providers.get("prov")
	budget := b.budgets.get(r.BudgetKey())
	var lines []Line
	costs, known := Micros(0), true
	for _, k := range r.Keys {
		l := b.lines.get(k)
		lines = append(lines, *l)
		if l.Cost == nil {
			known = false
			continue
		}
		costs += *l.Cost
	}
	open := r.State.Open()
	held, slots := Amount(0), int64(0)
	if open {
		held, slots = r.Taken.Amount, 1
	}
	heldBudget := Micros(200)
	if !open && known {
		heldBudget = 0
	}
	uncertain := int64(0)
	if r.State == Uncertain {
		uncertain = 1
	}
	ends, moved := 0, Amount(0)
	for _, e := range b.appended.kept() {
		if strings.HasPrefix(e.EventKey, "end ") {
			ends++
		}
		if v := e.Movement; v != nil {
			moved += v.After.Available + v.After.Held - v.Before.Available - v.Before.Held
		}
	}
	wantEnds := 1
	if open {
		wantEnds = 0
	}
	switch {
	case misnumbered(lines) != nil:
		return fmt.Sprintf("attempt %+v among %+v", *misnumbered(lines), lines)
	case open && r.State != openState(alive(lines)):
		return fmt.Sprintf("state %s, and the journal says %s", r.State, openState(alive(lines)))
	case a.Credits.Held != held || a.Credits.Available != 100-held-r.Captured:
		return fmt.Sprintf("credits %+v beside captured %d in state %s", a.Credits, r.Captured, r.State)
	case 100+moved != a.Credits.Available+a.Credits.Held:
		return fmt.Sprintf("entries moved %d, the account says %+v", moved, a.Credits)
	case a.SlotsInUse != slots || p.InFlight != slots || p.UncertainInFlight != uncertain:
		return fmt.Sprintf("slots %d, in flight %d, uncertain %d in state %s", a.SlotsInUse, p.InFlight, p.UncertainInFlight, r.State)
	case budget.Held != heldBudget || budget.Spent != costs:
		return fmt.Sprintf("budget %+v beside costs %d in state %s", *budget, costs, r.State)
	case ends != wantEnds:
		return fmt.Sprintf("%d ends in state %s", ends, r.State)
	case len(b.appended.kept()) != int(r.Revision)+1:
		return fmt.Sprintf("%d entries at revision %d", len(b.appended.kept()), r.Revision)
	case (r.State == Completed) != (output(r.State, alive(lines)) == OutputReleasable):
		return fmt.Sprintf("output %s in state %s", output(r.State, alive(lines)), r.State)
	}
	return ""
}

// misnumbered returns an attempt that is not the next of its kind and stage, or that began before the one before it was resolved.
func misnumbered(lines []Line) *Line {
	last := map[string]Line{}
	for i, l := range lines {
		slot := string(l.Kind) + string(l.Stage)
		before, second := last[slot]
		if l.Attempt != before.Attempt+1 || second && !before.Knowledge.Final() {
			return &lines[i]
		}
		last[slot] = l
	}
	return nil
}
