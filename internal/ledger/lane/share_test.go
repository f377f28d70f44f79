package lane_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
)

// small has batches of two and several of them under way, so that few calls are many batches.
func small(c *lane.Config) { c.BatchMax, c.RunnersMax, c.TurnsMax = 2, 3, 8 }

// newShared is a world whose provider has its budget already: one that has to be made is not shared.
func newShared(t *testing.T, change ...func(*lane.Config)) *world {
	t.Helper()
	w := newWorld(t, change...)
	w.db.Exec("INSERT INTO budgets VALUES ($1, 'studio', '1970-01-01Z', 1000000, 0, 0)", acme)
	return w
}

// slow reserves, and stays in its transaction until it is let go.
func (w *world) slow(in ledger.Reserve) (letGo func() (ledger.ReserveAnswer, error)) {
	w.t.Helper()
	type result struct {
		answer ledger.ReserveAnswer
		err    error
	}
	decided, goOn, done := make(chan struct{}), make(chan struct{}), make(chan result, 1)
	first := sync.OnceFunc(func() { close(decided); <-goOn })
	go func() {
		answer, err := lane.Do(w.t.Context(), w.lanes, acme, in.Keys(), func(b *ledger.Book) (ledger.ReserveAnswer, error) {
			answer, err := b.Reserve(in)
			first()
			return answer, err
		})
		done <- result{answer, err}
	}()
	<-decided
	return func() (ledger.ReserveAnswer, error) {
		close(goOn)
		r := <-done
		return r.answer, r.err
	}
}

// A batch that takes long keeps neither another batch of its tenant from the provider, nor one of another server.
func TestABatchUnderWayKeepsNobodyFromItsProvider(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(*testing.T, *world) *world{
		"of the tenant":     func(_ *testing.T, w *world) *world { return w },
		"of another server": func(t *testing.T, w *world) *world { return newReplica(t, w.db) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newShared(t, func(c *lane.Config) { c.BatchMax = 1 })
			letGo := w.slow(reserve("r1", alice))
			other(t, w).granted(reserve("r2", bob))
			if answer, err := letGo(); err != nil || len(answer.Denied) > 0 {
				t.Errorf("%v, %v", answer.Denied, err)
			}
			w.sound()
		})
	}
}

// Room that two batches have seen is given once, and the other is told what there is in truth.
func TestTheLastRoomIsGivenOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		room string
		want ledger.DenialReason
	}{
		"of the budget":   {"UPDATE budgets SET limit_micros = 1", ledger.BudgetExhausted},
		"of the provider": {"UPDATE providers SET max_in_flight = 1", ledger.ProviderBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newShared(t)
			w.db.Exec(c.room)
			letGo := w.slow(reserve("r1", alice))
			newReplica(t, w.db).granted(reserve("r2", bob))
			answer, err := letGo()
			if err != nil || len(answer.Denied) != 1 || answer.Denied[0].Reason != c.want || answer.Denied[0].Available != 0 {
				t.Errorf("%v, %v", answer.Denied, err)
			}
			w.sound()
		})
	}
}

// Nothing is reserved of a provider once it was disabled, whatever a batch had read before.
func TestASettingHoldsFromWhenItWasPut(t *testing.T) {
	t.Parallel()
	w := newShared(t)
	letGo := w.slow(reserve("r1", alice))
	w.db.Exec("UPDATE providers SET enabled = false")
	answer, err := letGo()
	if err != nil || len(answer.Denied) != 1 || answer.Denied[0].Reason != ledger.ProviderDisabled {
		t.Errorf("%v, %v", answer.Denied, err)
	}
	w.sound()
}

// Many small batches of two servers on one budget grant what there is, to the last micro, and deny the rest.
func TestManyBatchesShareABudget(t *testing.T) {
	t.Parallel()
	const room, calls = 90, 200
	w := newWorld(t, small)
	w.db.Exec("UPDATE providers SET budget_limit_micros = $1", room)
	servers := []*world{w, newReplica(t, w.db, small)}
	var granted, denied atomic.Int64
	each(calls, func(i int) {
		answer, err := servers[i%2].reserve(t.Context(), reserve(fmt.Sprintf("r%d", i), []ledger.AccountID{alice, bob}[i/2%2]))
		switch {
		case err != nil:
			t.Error(err)
		case len(answer.Denied) == 0:
			granted.Add(1)
		case len(answer.Denied) == 1 && answer.Denied[0].Reason == ledger.BudgetExhausted:
			denied.Add(1)
		default:
			t.Errorf("denied: %v", answer.Denied)
		}
	})
	if granted.Load() != room || denied.Load() != calls-room {
		t.Errorf("%d granted and %d denied of %d", granted.Load(), denied.Load(), calls)
	}
	w.sound()
}

// Batches that meet at one account wait for each other: nobody is told that it was locked.
func TestBatchesMeetAtAnAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, small)
	each(60, func(i int) {
		id := fmt.Sprintf("r%d", i)
		if answer, err := w.reserve(t.Context(), reserve(id, alice)); err != nil || len(answer.Denied) > 0 {
			t.Errorf("reserve %s: %v, %v", id, answer.Denied, err)
		}
		if answer, err := w.cancel(t.Context(), ledger.ReservationID(id)); err != nil || answer.Disposition != ledger.Applied {
			t.Errorf("cancel %s: %v, %v", id, answer.Disposition, err)
		}
	})
	w.sound()
}

// The same call in many batches at once is carried out once, and answered alike.
func TestOneCallInManyBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, small)
	var made atomic.Int64
	each(60, func(int) {
		switch answer, err := w.reserve(t.Context(), reserve("r1", alice)); {
		case err != nil || len(answer.Denied) > 0:
			t.Errorf("%v, %v", answer.Denied, err)
		case !answer.Replayed:
			made.Add(1)
		}
	})
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
	w.sound()
}

// The items of one caller are carried out in their order, also where they are many batches and there is no room for all.
func TestItemsKeepTheirOrderOverManyBatches(t *testing.T) {
	t.Parallel()
	const items, room = 24, 5
	w := newShared(t, small)
	w.db.Exec("UPDATE budgets SET limit_micros = $1", room)
	var calls []lane.Item[ledger.ReserveAnswer]
	for i := range items {
		in := reserve(fmt.Sprintf("r%d", i), []ledger.AccountID{alice, bob}[i%2])
		calls = append(calls, lane.Item[ledger.ReserveAnswer]{Keys: in.Keys(), Rule: func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) }})
	}
	results, err := lane.DoAll(t.Context(), w.lanes, acme, calls)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if denied := len(r.Answer.Denied) > 0; r.Err != nil || denied != (i >= room) {
			t.Errorf("item %d: denied %t, %v", i, denied, r.Err)
		}
	}
	w.sound()
}

// Calls that all meet a batch under way wait for it in the queue, and start nothing; when it is over, they go on. The queue is full meanwhile,
// and nobody who was let in is turned away.
func TestWhoMeetsABatchWaitsForItInTheQueue(t *testing.T) {
	t.Parallel()
	const calls = 40
	w := newShared(t, small, func(c *lane.Config) { c.QueueMax = calls })
	letGo := w.slow(reserve("r", alice))
	done := make(chan error, calls)
	for i := range calls {
		go func() {
			_, err := w.reserve(t.Context(), reserve(fmt.Sprintf("r%d", i), alice))
			done <- err
		}()
	}
	w.untilQueued(acme, calls)
	if open := w.count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'settlementd_service' AND xact_start IS NOT NULL"); open != 1 {
		t.Errorf("%d transactions are open", open)
	}
	if _, err := letGo(); err != nil {
		t.Error(err)
	}
	for range calls {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	w.sound()
}
