package ledgerdb

import (
	"fmt"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
)

// BenchmarkPairs reserves with a permit and completes, in batches. It reports the time of a call, of which a pair is two.
func BenchmarkPairs(b *testing.B) {
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := newWorld(b)
			w.db.Exec("UPDATE accounts SET credits_available = 900000000000000, slot_limit = 1000000; UPDATE providers SET budget_limit_micros = 900000000000000")
			n := 0
			for b.Loop() {
				w.pairs(n, size)
				n += size
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*n), "ns/call")
		})
	}
}

// BenchmarkLoad locks and reads the rows of a batch of reservations that stand, and lets them go.
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := newWorld(b)
			keys := w.standing(size)
			for b.Loop() {
				loaded, err := w.store.Begin(b.Context(), tenant, keys, SkipLockedAccounts)
				if err != nil {
					b.Fatal(err)
				}
				loaded.Rollback()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(size*b.N), "ns/call")
		})
	}
}

// BenchmarkSave writes and commits what a batch of extensions has changed. Loading and deciding are not counted.
func BenchmarkSave(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := newWorld(b)
			keys := w.standing(size)
			ttl := int64(1000)
			for b.Loop() {
				b.StopTimer()
				loaded := w.begin(keys, SkipLockedAccounts)
				ttl++
				for _, id := range keys.Reservations {
					answer, err := ledger.Decide(loaded.Book, func(book *ledger.Book) (ledger.ExtendAnswer, error) { return book.Extend(id, ttl) })
					if err != nil || answer.Refused != "" {
						b.Fatal(answer.Refused, err)
					}
				}
				b.StartTimer()
				if err := loaded.Commit(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(size*b.N), "ns/call")
		})
	}
}

// standing makes reservations, and names them.
func (w *world) standing(size int) ledger.Keys {
	w.t.Helper()
	var keys ledger.Keys
	for i := range size {
		in := reserveOf(ledger.ReservationID(fmt.Sprint("r", i)), "")
		in.MaxAgeSeconds = 100 * 365 * 86_400
		w.reserve(in)
		keys.Reservations = append(keys.Reservations, in.ID)
	}
	return keys
}

func (w *world) pairs(from, size int) {
	var reserve []ledger.Reserve
	var settle []ledger.Settlement
	var reserveKeys, settleKeys ledger.Keys
	for i := from; i < from+size; i++ {
		in := reserveOf(ledger.ReservationID(fmt.Sprintf("%08x-r", i*2654435761%(1<<32))), ledger.RequestKey(fmt.Sprintf("%08x-k", i*2654435761%(1<<32))))
		reserve = append(reserve, in)
		reserveKeys.Add(in.Keys())
		end := ledger.Settlement{
			Reservation: in.ID, Key: in.Asked.SubmissionKey, Observer: ledger.ByCallback, OutputCheck: ledger.CheckNotRequired,
			Cost: &ledger.Money{Micros: 5, Currency: "USD"}, Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeCompleted},
		}
		settle = append(settle, end)
		settleKeys.Add(end.Keys())
	}
	batch(w, reserveKeys, reserve, (*ledger.Book).Reserve)
	batch(w, settleKeys, settle, (*ledger.Book).Settle)
}

func batch[In, A any](w *world, keys ledger.Keys, calls []In, rule func(*ledger.Book, In) (A, error)) {
	w.t.Helper()
	b, err := w.store.Begin(w.t.Context(), tenant, keys, SkipLockedAccounts)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, in := range calls {
		if _, err := ledger.Decide(b.Book, func(b *ledger.Book) (A, error) { return rule(b, in) }); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := b.Commit(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}
