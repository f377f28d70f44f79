package lane_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// BenchmarkDo reserves through a lane, with so many callers at a time. Beside it, each call has a transaction of its own.
func BenchmarkDo(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		for name, alone := range map[string]bool{"shared": false, "alone": true} {
			b.Run(fmt.Sprintf("%d/%s", callers, name), func(b *testing.B) {
				db := postgrestest.New(b)
				seed(db, acme, alice)
				db.Exec("UPDATE accounts SET credits_available = 900000000000000, slot_limit = 1000000000; UPDATE providers SET budget_limit_micros = 900000000000000")
				lanes := lane.New(ledgerdb.New(db.Ledger()), lane.Config{BatchMax: 256, QueueMax: 4096, TurnsMax: 4, Alone: alone, Log: slog.New(slog.DiscardHandler)})
				defer lanes.Close(b.Context())
				var next atomic.Int64
				b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						in := reserve(fmt.Sprint("r", next.Add(1)), alice)
						answer, err := lane.Do(b.Context(), lanes, acme, in.Keys(), func(book *ledger.Book) (ledger.ReserveAnswer, error) { return book.Reserve(in) })
						if err != nil || len(answer.Denied) > 0 {
							b.Errorf("%v %v", answer.Denied, err)
							return
						}
					}
				})
			})
		}
	}
}
