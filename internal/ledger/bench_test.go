package ledger

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkRules opens the book of a batch, and decides all of its calls: 128 that reserve, or 128 that complete what was reserved.
func BenchmarkRules(b *testing.B) {
	const calls = 128
	var reserves []Reserve
	var settles []Settlement
	for i := range calls {
		in := Reserve{
			ID: ReservationID(fmt.Sprint("r", i)), Token: "token", TTLSeconds: 900, MaxAgeSeconds: 7200,
			Asked: Asked{
				Account: "a", Provider: "p", Funding: Funding{Kind: FundCredits, Credits: 10}, Budget: 200, Currency: "USD",
				SubmissionKey: RequestKey(fmt.Sprint("k", i)),
			},
		}
		reserves = append(reserves, in)
		settles = append(settles, Settlement{
			Reservation: in.ID, Key: in.Asked.SubmissionKey, Observer: ByPoll, OutputCheck: CheckNotRequired, Cost: &Money{Micros: 5, Currency: "USD"},
			Outcome: SettledOutcome{Kind: OutcomeCompleted},
		})
	}
	before := Rows{
		Now: start, Periods: map[ProviderID]time.Time{"p": time.Unix(0, 0).UTC()},
		Accounts:  []Account{{ID: "a", Credits: Balance{1_000_000, 0}, SlotLimit: 1000}},
		Providers: []Provider{{ID: "p", Currency: "USD", Enabled: true, BudgetLimit: 1_000_000, Policy: Policy{PermitSeconds: 30}}},
	}
	after := before
	book := Open(before)
	decideAll(b, book, reserves, reserving)
	changes := book.Changes()
	after.Accounts, after.Providers, after.Budgets = changes.Accounts.Updated, changes.Providers.Updated, changes.Budgets.Inserted
	after.Reservations, after.Lines = changes.Reservations.Inserted, changes.Lines.Inserted
	b.Run("reserve", func(b *testing.B) { decideEach(b, before, reserves, reserving) })
	b.Run("settle", func(b *testing.B) { decideEach(b, after, settles, settlingWith) })
}

func reserving(b *Book, in Reserve) (ReserveAnswer, error) { return b.Reserve(in) }
func settlingWith(b *Book, in Settlement) (Answer, error)  { return b.Settle(in) }

func decideEach[In, A any](b *testing.B, rows Rows, calls []In, rule func(*Book, In) (A, error)) {
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for i := range rows.Reservations {
			rows.Reservations[i].Keys = nil // as they are loaded
		}
		book := Open(rows)
		decideAll(b, book, calls, rule)
		if c := book.Changes(); len(c.Entries) != len(calls) {
			b.Fatalf("%d entries of %d calls", len(c.Entries), len(calls))
		}
		n += len(calls)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/call")
}

func decideAll[In, A any](b *testing.B, book *Book, calls []In, rule func(*Book, In) (A, error)) {
	b.Helper()
	for _, in := range calls {
		if _, err := Decide(book, func(book *Book) (A, error) { return rule(book, in) }); err != nil {
			b.Fatal(err)
		}
	}
}
