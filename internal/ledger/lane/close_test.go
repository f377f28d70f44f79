package lane_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

func TestCloseAnswersEverybody(t *testing.T) {
	t.Parallel()
	for _, patient := range []bool{true, false} {
		t.Run(fmt.Sprintf("patient=%t", patient), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *lane.Config) { c.TurnsMax, c.BatchMax = 1, 4 })
			seed(w.db, "other", alice)
			g := w.gate(acme)
			const n = 12
			answers := make(chan error, 2*n)
			for i := range n {
				for _, tenant := range []ledger.TenantID{acme, "other"} {
					go func() {
						_, err := w.reserveIn(context.Background(), tenant, reserve(fmt.Sprintf("r%d", i), alice))
						answers <- err
					}()
				}
			}
			w.untilQueued(acme, n)
			w.untilQueued("other", n)

			ctx, cancel := context.WithCancel(context.Background())
			if !patient {
				cancel()
			}
			defer cancel()
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				w.lanes.Close(ctx)
			}()
			left, leave := context.WithCancel(t.Context())
			leave() // a call that is taken must not wait
			postgrestest.Until(t, "no more calls are taken", func() bool {
				_, err := w.reserve(left, reserve("late", alice))
				return errors.Is(err, lane.ErrClosed)
			})
			g.open(t)
			<-closed
			ok := 0
			for range 2 * n {
				switch err := <-answers; {
				case err == nil:
					ok++
				case patient || !errors.Is(err, lane.ErrClosed):
					t.Errorf("got %v", err)
				}
			}
			if n := w.count("SELECT count(*) FROM reservations"); n != ok {
				t.Errorf("%d reservations, and %d calls that were told so", n, ok)
			}
			w.sound()
		})
	}
}

func TestCloseWaitsForCallsOnLocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lock(lockAccount, acme, alice)
	answer := make(chan error, 1)
	go func() {
		_, err := w.reserve(context.Background(), reserve("r1", alice))
		answer <- err
	}()
	w.untilWaiting(1)
	w.close()
	if err := <-answer; !errors.Is(err, lane.ErrUnavailable) && !errors.Is(err, lane.ErrClosed) {
		t.Errorf("got %v", err)
	}
	w.close() // once more does nothing
}

func TestEverythingWorksOnOneConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *lane.Config) { c.TurnsMax = 1 })
	seed(w.db, "other", alice)
	l := w.lock(lockAccount, acme, alice)
	blocked := make(chan error, 1)
	go func() {
		_, err := w.reserve(t.Context(), reserve("blocked", alice))
		blocked <- err
	}()
	w.untilWaiting(1)
	each(30, func(i int) {
		tenant, account := acme, bob
		if i%3 == 0 {
			tenant, account = "other", alice
		}
		if _, err := w.reserveIn(t.Context(), tenant, reserve(fmt.Sprintf("r%d", i), account)); err != nil {
			t.Errorf("r%d: %v", i, err)
		}
	})
	l.release()
	if err := <-blocked; err != nil && !errors.Is(err, lane.ErrUnavailable) {
		t.Error(err)
	}
	w.granted(reserve("blocked", alice))
	w.sound()
}

// It is not parallel: goroutines of other tests would be taken for its own.
func TestNothingIsLeftBehind(t *testing.T) {
	db := postgrestest.New(t)
	seed(db, acme, alice)
	db.Owner()
	before := goleak.IgnoreCurrent()
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: db.ServiceDSN(), Kind: postgres.Ledger, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	lanes := lane.New(ledgerdb.New(pool), lane.Config{BatchMax: 8, QueueMax: 100, TurnsMax: 2, RunnersMax: 3, Log: slog.New(slog.DiscardHandler)})
	each(40, func(i int) {
		in := reserve(fmt.Sprintf("r%d", i), []ledger.AccountID{alice, "nobody"}[i%2])
		ctx, cancel := context.WithCancel(t.Context())
		if i%4 == 0 {
			cancel()
		}
		defer cancel()
		_, _ = lane.Do(ctx, lanes, acme, in.Keys(), func(b *ledger.Book) (ledger.ReserveAnswer, error) {
			if i%8 == 1 {
				panic("a rule")
			}
			return b.Reserve(in)
		})
	})
	lanes.Close(t.Context())
	if n := pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections were not given back", n)
	}
	pool.Close()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
