package lane

import (
	"context"
	"sync/atomic"

	"github.com/settlementd/settlementd/internal/ledger"
)

// Item is one call of a batch: a rule, and the rows that it needs.
type Item[A any] struct {
	Keys ledger.Keys
	Rule func(*ledger.Book) (A, error)
}

// Result is the answer of an item, or why it has none.
type Result[A any] struct {
	Answer A
	Err    error
}

// Do runs a rule over the rows that the keys name, in a transaction that it may share with others, and returns its answer once that is
// durable. When ctx ends first, the call may still be carried out: a retry with the same ids gets the true answer.
func Do[A any](ctx context.Context, l *Lanes, tenant ledger.TenantID, keys ledger.Keys, rule func(*ledger.Book) (A, error)) (A, error) {
	var answer, none A
	g := newGroup(1)
	c := &call{ctx: ctx, keys: keys, decide: deciding(rule, &answer), group: g}
	if err := l.enqueue(key{tenant: tenant}, c); err != nil {
		return none, err
	}
	if err := g.wait(ctx); err != nil {
		return none, err
	}
	return answer, c.err
}

// DoAll runs the rules of items in their order, each as Do would. Items that come together need not share a transaction. The error tells
// that none was carried out, or that ctx ended first, when any may be.
func DoAll[A any](ctx context.Context, l *Lanes, tenant ledger.TenantID, items []Item[A]) ([]Result[A], error) {
	results := make([]Result[A], len(items))
	if len(items) == 0 {
		return results, nil
	}
	g := newGroup(len(items))
	calls := make([]*call, len(items))
	for i := range items {
		calls[i] = &call{ctx: ctx, keys: items[i].Keys, decide: deciding(items[i].Rule, &results[i].Answer), group: g}
	}
	if err := l.enqueue(key{tenant: tenant}, calls...); err != nil {
		return nil, err
	}
	if err := g.wait(ctx); err != nil {
		return nil, err
	}
	for i := range calls {
		results[i].Err = calls[i].err
	}
	return results, nil
}

// deciding is a rule that leaves its answer at a place.
func deciding[A any](rule func(*ledger.Book) (A, error), at *A) func(*ledger.Book) error {
	return func(b *ledger.Book) (err error) {
		*at, err = ledger.Decide(b, rule)
		return err
	}
}

// call is one request on its way through a lane.
type call struct {
	ctx    context.Context // of the caller: a call whose caller has left is dropped before it is decided, never after
	keys   ledger.Keys
	decide func(*ledger.Book) error
	tries  int
	// meetings are how often its account was found in another batch of the tenant.
	meetings int
	err      error // of the rule, or why it was not decided
	group    *group
}

// group are calls that one caller waits for together.
type group struct {
	left atomic.Int64
	done chan struct{} // closed when none is left
}

func newGroup(size int) *group {
	g := &group{done: make(chan struct{})}
	g.left.Store(int64(size))
	return g
}

// wait returns when every call is answered, or with an error when ctx ends first.
func (g *group) wait(ctx context.Context) error {
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish answers a call.
func (c *call) finish(err error) {
	c.err = err
	if c.group.left.Add(-1) == 0 {
		close(c.group.done)
	}
}

// finish answers calls that share a fate.
func finish(calls []*call, err error) {
	for _, c := range calls {
		c.finish(err)
	}
}
