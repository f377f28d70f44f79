package bench

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// stalled answers at once, but for a second in which nothing is answered until it is over.
type stalled struct{ from, to time.Time }

func (s stalled) answer(ctx context.Context) error {
	if now := time.Now(); !now.Before(s.from) && now.Before(s.to) {
		return pause(ctx, s.to.Sub(now))
	}
	return nil
}

// paced keeps a pace of a call each 10 ms for ten seconds, of which the server stalls one, and returns how it went.
func paced(t *testing.T, most int) tally {
	t.Helper()
	m := newMeter()
	m.open.Store(true)
	var stop atomic.Bool
	begin := time.Now()
	server := stalled{begin.Add(3 * time.Second), begin.Add(4 * time.Second)}
	time.AfterFunc(10*time.Second-time.Millisecond, func() { stop.Store(true) })
	err := pace(t.Context(), 10*time.Millisecond, most, &stop, func(ctx context.Context, i int, due time.Time) error {
		if want := begin.Add(time.Duration(i) * 10 * time.Millisecond); !due.Equal(want) {
			t.Errorf("call %d is due at %v, want %v", i, due, want)
		}
		if err := server.answer(ctx); err != nil {
			return err
		}
		m.record(i, 1, time.Since(due))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got tally
	got.calls, got.times = m.take()
	return got
}

// TestAStallShowsInEveryCallThatWasDueInIt is what an open loop is for: the tenth of the calls that were due while the server stalled have
// waited for as long as was left of it, whether or not they could be started then.
func TestAStallShowsInEveryCallThatWasDueInIt(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"enough may be under way": 1000, "one may be under way": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got := paced(t, most)
				if got.calls < 1000 || got.calls > 1001 {
					t.Errorf("%d calls", got.calls)
				}
				for _, want := range []struct{ percent, from, to float64 }{{50, 0, 0.01}, {89, 0, 0.01}, {95, 450, 550}, {99, 880, 920}, {100, 1000, 1001}} {
					if p := got.quantile(want.percent); p < want.from || p > want.to {
						t.Errorf("p%v is %v ms, want %v to %v", want.percent, p, want.from, want.to)
					}
				}
			})
		})
	}
}

// TestAFailedCallEndsThePace stops at the first.
func TestAFailedCallEndsThePace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := pace(t.Context(), time.Second, 10, new(atomic.Bool), func(_ context.Context, i int, _ time.Time) error {
			if i == 3 {
				return context.DeadlineExceeded
			}
			return nil
		})
		if err != context.DeadlineExceeded { //nolint:errorlint // the very one
			t.Errorf("ended with %v", err)
		}
	})
}
