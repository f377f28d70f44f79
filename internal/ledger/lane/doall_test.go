package lane_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
)

// items are those of a caller who reserves many at once.
func items(ins ...ledger.Reserve) []lane.Item[ledger.ReserveAnswer] {
	var all []lane.Item[ledger.ReserveAnswer]
	for _, in := range ins {
		all = append(all, lane.Item[ledger.ReserveAnswer]{
			Keys: in.Keys(), Rule: func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) },
		})
	}
	return all
}

// The items of a caller are decided in their order, and each result stands at the place of its item.
func TestItemsAreDecidedInTheirOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 50
	var order []int
	var calls []lane.Item[int]
	for i := range n {
		in := reserve(fmt.Sprintf("r%d", n-i), alice) // by its id it would come in the opposite order
		calls = append(calls, lane.Item[int]{Keys: in.Keys(), Rule: func(b *ledger.Book) (int, error) {
			order = append(order, i)
			_, err := b.Reserve(in)
			return i, err
		}})
	}
	results, err := lane.DoAll(t.Context(), w.lanes, acme, calls)
	if err != nil || len(results) != n {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		if r.Err != nil || r.Answer != i {
			t.Errorf("at place %d is the answer of item %d, %v", i, r.Answer, r.Err)
		}
	}
	for k, i := range order { // a batch may be decided a second time, then from its first item on
		if i != k%n {
			t.Fatalf("decided in the order %v", order)
		}
	}
	w.sound()
}

// An item that fails does so alone; one that repeats an earlier one is its replay.
func TestAnItemFailsAloneAndADuplicateIsAReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	results, err := lane.DoAll(t.Context(), w.lanes, acme,
		items(reserve("r1", alice), reserve("r2", "nobody"), reserve("r1", alice), reserve("r3", bob), reserve("r4", bob, credits), reserve("r1", bob)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		kind             ledger.ErrorKind
		denied, replayed bool
	}{{}, {kind: ledger.NotFound}, {replayed: true}, {}, {denied: true}, {kind: ledger.AlreadyExists}} {
		r, kind := results[i], ledger.ErrorKind(0)
		if failure, ok := errors.AsType[*ledger.Error](r.Err); ok {
			kind = failure.Kind
		}
		if kind != want.kind || (r.Err != nil) != (want.kind != ledger.ErrorKind(0)) || len(r.Answer.Denied) > 0 != want.denied || r.Answer.Replayed != want.replayed {
			t.Errorf("item %d: %+v, %v", i, r.Answer, r.Err)
		}
	}
	if n := w.count("SELECT count(*) FROM reservations"); n != 2 {
		t.Errorf("%d reservations", n)
	}
	w.sound()
}

// Items whose caller has left before they are decided are dropped; the caller is told by one error.
func TestItemsOfACallerWhoLeftAreNotDecided(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.gate(acme)
	ctx, leave := context.WithCancel(t.Context())
	var decided atomic.Int64
	item := lane.Item[struct{}]{Rule: func(*ledger.Book) (struct{}, error) {
		decided.Add(1)
		return struct{}{}, nil
	}}
	gone := make(chan error, 1)
	go func() {
		results, err := lane.DoAll(ctx, w.lanes, acme, []lane.Item[struct{}]{item, item, item})
		if results != nil {
			err = fmt.Errorf("results %v, %w", results, err)
		}
		gone <- err
	}()
	w.untilQueued(acme, 3)
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) || err.Error() != context.Canceled.Error() {
		t.Errorf("told %v", err)
	}
	g.open(t)
	w.granted(reserve("later", alice)) // behind them in the queue
	if n := decided.Load(); n != 0 {
		t.Errorf("%d were decided", n)
	}
	w.sound()
}

// A caller who leaves while the items are decided has them carried out, and who comes again gets their answers.
func TestItemsOfACallerWhoLeavesWhileTheyAreDecidedStand(t *testing.T) {
	t.Parallel()
	w := newShared(t)
	ctx, leave := context.WithCancel(t.Context())
	calls := items(reserve("r1", alice), reserve("r2", bob))
	entered, opened := make(chan struct{}), make(chan struct{})
	first := calls[0].Rule
	calls[0].Rule = func(b *ledger.Book) (ledger.ReserveAnswer, error) {
		close(entered)
		<-opened
		return first(b)
	}
	gone := make(chan error, 1)
	go func() {
		_, err := lane.DoAll(ctx, w.lanes, acme, calls)
		gone <- err
	}()
	<-entered
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("told %v", err)
	}
	close(opened)
	results, err := lane.DoAll(t.Context(), w.lanes, acme, items(reserve("r1", alice), reserve("r2", bob)))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil || len(r.Answer.Denied) > 0 {
			t.Errorf("item %d again: denied %v, %v", i, r.Answer.Denied, r.Err)
		}
	}
	if !results[0].Answer.Replayed {
		t.Error("the first item was not carried out")
	}
	w.sound()
}

// Items join a lane all or none: where there is no room for the last of them, none is carried out, and single calls still find theirs.
func TestItemsBeyondTheRoomOfTheQueueAreRefusedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *lane.Config) { c.QueueMax = 5 })
	g := w.gate(acme)
	six := items(reserve("r1", alice), reserve("r2", alice), reserve("r3", alice), reserve("r4", alice), reserve("r5", alice), reserve("r6", alice))
	if results, err := lane.DoAll(t.Context(), w.lanes, acme, six); !errors.Is(err, lane.ErrBusy) || results != nil {
		t.Errorf("results %v, %v", results, err)
	}
	if n := w.lanes.Queued(acme); n != 0 {
		t.Errorf("%d of them wait", n)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := lane.DoAll(t.Context(), w.lanes, acme, six[:5])
		answered <- err
	}()
	w.untilQueued(acme, 5)
	g.open(t)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if n := w.count("SELECT count(*) FROM reservations"); n != 5 {
		t.Errorf("%d reservations", n)
	}
	w.sound()
}

// No items are no work.
func TestNoItemsAreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.gate(acme)
	if results, err := lane.DoAll(t.Context(), w.lanes, acme, []lane.Item[int]{}); err != nil || len(results) != 0 {
		t.Errorf("results %v, %v", results, err)
	}
	g.open(t)
}
