package lane_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
)

func TestCallsThatWaitTogetherShareATransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.gate(acme)
	const n = 20
	answers := make(chan error, n)
	for i := range n {
		go func() {
			_, err := w.reserve(t.Context(), reserve(fmt.Sprintf("r%d", i), alice))
			answers <- err
		}()
	}
	w.untilQueued(acme, n)
	g.open(t)
	for range n {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if got := w.count("SELECT count(DISTINCT xmin::text) FROM entries"); got != 1 {
		t.Errorf("%d calls took %d transactions", n, got)
	}
	w.sound()
}

func TestABatchHasItsLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *lane.Config) { c.BatchMax, c.RunnersMax = 4, 1 })
	g := w.gate(acme)
	answers := make(chan error, 10)
	for i := range 10 {
		go func() {
			_, err := w.reserve(t.Context(), reserve(fmt.Sprintf("r%d", i), alice))
			answers <- err
		}()
	}
	w.untilQueued(acme, 10)
	g.open(t)
	for range 10 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if got := w.count("SELECT count(DISTINCT xmin::text) FROM entries"); got != 3 {
		t.Errorf("10 calls by 4 took %d transactions", got)
	}
}

func TestMixedCallsAtOnce(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprintf("alone=%t", alone), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *lane.Config) { c.Alone = alone })
			each(60, func(i int) {
				id, account := fmt.Sprintf("r%d", i%20), []ledger.AccountID{alice, bob}[i%2]
				if _, err := w.reserve(t.Context(), reserve(id, account)); err != nil {
					t.Errorf("reserve %s: %v", id, err)
				}
				if i%3 == 0 {
					if _, err := w.cancel(t.Context(), ledger.ReservationID(id)); err != nil {
						t.Errorf("cancel %s: %v", id, err)
					}
				}
			})
			if n := w.count("SELECT count(*) FROM reservations"); n != 20 {
				t.Errorf("%d reservations", n)
			}
			w.sound()
		})
	}
}

func TestAnErrorOfOneCallIsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.gate(acme)
	answers := make(chan error, 3)
	for _, in := range []ledger.Reserve{reserve("r1", alice), reserve("r2", "nobody"), reserve("r3", bob)} {
		go func() {
			_, err := w.reserve(t.Context(), in)
			if le, ok := errors.AsType[*ledger.Error](err); ok && le.Kind == ledger.NotFound && in.ID == "r2" {
				err = nil
			}
			answers <- err
		}()
	}
	w.untilQueued(acme, 3)
	g.open(t)
	for range 3 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if n := w.count("SELECT count(*) FROM reservations"); n != 2 {
		t.Errorf("%d reservations", n)
	}
	w.sound()
}

func TestAnUnknownTenantIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.reserveIn(t.Context(), "nobody", reserve("r1", alice))
	if le, ok := errors.AsType[*ledger.Error](err); !ok || le.Kind != ledger.NotFound || le.Field != "tenant_id" {
		t.Errorf("got %v", err)
	}
}

func TestAQueueIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *lane.Config) { c.QueueMax = 5 })
	g := w.gate(acme)
	answers := make(chan error, 5)
	for i := range 5 {
		go func() {
			_, err := w.reserve(t.Context(), reserve(fmt.Sprintf("r%d", i), alice))
			answers <- err
		}()
	}
	w.untilQueued(acme, 5)
	if _, err := w.reserve(t.Context(), reserve("one too many", alice)); !errors.Is(err, lane.ErrBusy) {
		t.Errorf("got %v", err)
	}
	if _, err := w.reserveIn(t.Context(), "another", reserve("r1", alice)); errors.Is(err, lane.ErrBusy) {
		t.Error("another tenant pays for the queue of this one")
	}
	g.open(t)
	for range 5 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	w.granted(reserve("later", alice))
	w.sound()
}

func TestACallWhoseCallerLeftIsNotDecided(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.gate(acme)
	ctx, leave := context.WithCancel(t.Context())
	var decided atomic.Bool
	gone := make(chan error, 1)
	go func() {
		_, err := lane.Do(ctx, w.lanes, acme, ledger.Keys{}, func(*ledger.Book) (struct{}, error) {
			decided.Store(true)
			return struct{}{}, nil
		})
		gone <- err
	}()
	w.untilQueued(acme, 1)
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	g.open(t)
	w.granted(reserve("r1", alice)) // it was queued behind the one that left
	if decided.Load() {
		t.Error("a call was decided that nobody waits for")
	}
}

func TestACallWhoseCallerLeavesWhileItIsDecidedStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.granted(reserve("r0", alice)) // a budget that has to be made is decided twice
	ctx, leave := context.WithCancel(t.Context())
	in := reserve("r1", alice)
	_, err := lane.Do(ctx, w.lanes, acme, in.Keys(), func(b *ledger.Book) (ledger.ReserveAnswer, error) {
		leave()
		return b.Reserve(in)
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if again := w.granted(in); !again.Replayed {
		t.Error("the call that was decided did not stand")
	}
	w.sound()
}

func TestARulePanicsAloneAndLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.gate(acme)
	in := reserve("broken", alice)
	panicked, fine := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := lane.Do(t.Context(), w.lanes, acme, in.Keys(), func(b *ledger.Book) (ledger.ReserveAnswer, error) {
			if _, err := b.Reserve(in); err != nil {
				return ledger.ReserveAnswer{}, err
			}
			panic("after everything was changed")
		})
		panicked <- err
	}()
	go func() {
		_, err := w.reserve(t.Context(), reserve("fine", alice))
		fine <- err
	}()
	w.untilQueued(acme, 2)
	g.open(t)
	if err := <-panicked; !errors.Is(err, lane.ErrInternal) {
		t.Errorf("got %v", err)
	}
	if err := <-fine; err != nil {
		t.Errorf("its neighbour: %v", err)
	}
	if n := w.count("SELECT count(*) FROM reservations WHERE reservation_id = 'broken'"); n != 0 {
		t.Error("the call that panicked left a reservation")
	}
	if !strings.Contains(w.log.String(), "after everything was changed") {
		t.Error("the panic is not in the log")
	}
	w.sound()
}
