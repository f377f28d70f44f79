package lane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

// Errors of a call that got no answer from the rules. All but ErrInternal are safe to retry with the same ids.
var (
	// ErrBusy says that the tenant's queue is full.
	ErrBusy = errors.New("too many calls of this tenant are waiting")
	// ErrUnavailable says that the database could not be asked, a row stayed locked, or the fate of a COMMIT is not known yet.
	ErrUnavailable = errors.New("the ledger is not available right now")
	// ErrAborted says that the call lost its race three times.
	ErrAborted = errors.New("the call lost a race too often")
	// ErrClosed says that the server is shutting down.
	ErrClosed = errors.New("the server is shutting down")
	// ErrInternal says that rows contradict each other, or the rules do. The cause is in the log.
	ErrInternal = errors.New("internal error")
)

// Config bounds the lanes.
type Config struct {
	BatchMax int // calls in one transaction
	QueueMax int // calls that may wait in one lane
	TurnsMax int // lanes that are in the database at a time; at most the size of the pool
	// Alone gives every call a transaction of its own and has it wait for its locks: the plain way, to compare with.
	Alone bool
	Log   *slog.Logger
}

// Lanes runs calls in shared transactions.
type Lanes struct {
	store  *ledgerdb.Store
	config Config
	turns  *semaphore.Weighted
	// patient bounds the turns of lanes that wait for locks: a free row never waits for more than one round of locked ones.
	patient *semaphore.Weighted
	doubts  doubts

	mu      sync.Mutex
	lanes   map[key]*lane
	closed  bool
	running sync.WaitGroup
	stop    context.Context // ends when Close no longer waits
	abandon context.CancelFunc
}

// key names a lane: a tenant's, or one of a tenant's accounts that somebody else holds a lock on.
type key struct {
	tenant  ledger.TenantID
	account ledger.AccountID
}

type lane struct {
	key   key
	queue []*call
}

// call is one request on its way through a lane.
type call struct {
	ctx    context.Context // of the caller: a call whose caller has left is dropped before it is decided, never after
	keys   ledger.Keys
	decide func(*ledger.Book) error
	tries  int
	err    error // of the rule, or why it was not decided
	group  *group
}

// group are calls that one caller waits for together.
type group struct {
	left atomic.Int64
	done chan struct{} // closed when none is left
}

// finish answers a call.
func (c *call) finish(err error) {
	c.err = err
	if c.group.left.Add(-1) == 0 {
		close(c.group.done)
	}
}

// New makes lanes over a store.
func New(store *ledgerdb.Store, config Config) *Lanes {
	l := &Lanes{
		store: store, config: config, lanes: map[key]*lane{},
		turns:   semaphore.NewWeighted(int64(config.TurnsMax)),
		patient: semaphore.NewWeighted(int64(max(config.TurnsMax/2, 1))),
	}
	l.stop, l.abandon = context.WithCancel(context.Background())
	return l
}

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
	results, err := DoAll(ctx, l, tenant, []Item[A]{{keys, rule}})
	if err != nil {
		var none A
		return none, err
	}
	return results[0].Answer, results[0].Err
}

// DoAll runs the rules of items in their order, each as Do would. Items that come together need not share a transaction. The error tells
// that none was carried out, or that ctx ended first, when any may be.
func DoAll[A any](ctx context.Context, l *Lanes, tenant ledger.TenantID, items []Item[A]) ([]Result[A], error) {
	results := make([]Result[A], len(items))
	if len(items) == 0 {
		return results, nil
	}
	calls := make([]call, len(items))
	g := &group{done: make(chan struct{})}
	g.left.Store(int64(len(items)))
	for i, item := range items {
		calls[i] = call{ctx: ctx, keys: item.Keys, group: g, decide: func(b *ledger.Book) (err error) {
			results[i].Answer, err = ledger.Decide(b, item.Rule)
			return err
		}}
	}
	if err := l.enqueue(key{tenant: tenant}, pointers(calls)...); err != nil {
		return nil, err
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for i := range calls {
		results[i].Err = calls[i].err
	}
	return results, nil
}

func pointers(calls []call) []*call {
	to := make([]*call, len(calls))
	for i := range calls {
		to[i] = &calls[i]
	}
	return to
}

// enqueue has calls join a lane, all or none, and starts it when it is not running.
func (l *Lanes) enqueue(k key, calls ...*call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if l.config.Alone {
		l.running.Go(func() { l.runAlone(k, calls) })
		return nil
	}
	ln, running := l.lanes[k]
	switch {
	case !running:
		ln = &lane{key: k}
		l.lanes[k] = ln
		l.running.Go(func() { l.run(ln) })
	case len(ln.queue)+len(calls) > l.config.QueueMax:
		return ErrBusy
	}
	ln.queue = append(ln.queue, calls...)
	return nil
}

// run works a lane off, a batch a turn, until its queue is empty.
func (l *Lanes) run(ln *lane) {
	for {
		if err := l.takeTurn(ln.key); err != nil {
			l.drop(ln)
			return
		}
		calls := l.take(ln)
		if len(calls) > 0 {
			l.process(ln.key, calls, l.patience(ln.key))
		}
		l.endTurn(ln.key)
		if len(calls) == 0 {
			return
		}
	}
}

func (l *Lanes) takeTurn(k key) error {
	if k.account != "" {
		if err := l.patient.Acquire(l.stop, 1); err != nil {
			return err
		}
	}
	err := l.turns.Acquire(l.stop, 1)
	if err != nil && k.account != "" {
		l.patient.Release(1)
	}
	return err
}

func (l *Lanes) endTurn(k key) {
	l.turns.Release(1)
	if k.account != "" {
		l.patient.Release(1)
	}
}

// runAlone carries out calls one after the other, each in its own transaction.
func (l *Lanes) runAlone(k key, calls []*call) {
	if err := l.turns.Acquire(l.stop, 1); err != nil {
		finish(calls, ErrClosed)
		return
	}
	defer l.turns.Release(1)
	for i := range calls {
		l.process(k, calls[i:i+1:i+1], ledgerdb.WaitForLocks)
	}
}

// take removes the next batch from a lane's queue. A lane with nothing to do ends.
func (l *Lanes) take(ln *lane) []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(ln.queue), l.config.BatchMax)
	if n == 0 {
		delete(l.lanes, ln.key)
		return nil
	}
	calls := ln.queue[:n:n]
	ln.queue = ln.queue[n:]
	return calls
}

// drop ends a lane whose calls will not be carried out.
func (l *Lanes) drop(ln *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lanes, ln.key)
	finish(ln.queue, ErrClosed)
}

// Close takes no more calls and waits for those that came before. When ctx ends, calls that have not reached the database are answered
// with ErrClosed, and only the transactions under way are waited for.
func (l *Lanes) Close(ctx context.Context) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	stop := context.AfterFunc(ctx, l.abandon)
	l.running.Wait()
	stop()
	l.abandon()
	l.doubts.wait()
}

// InDoubt tells whether a transaction of this server that touches the reservation is neither committed nor aborted yet. Until it is, a
// plain read would lie.
func (l *Lanes) InDoubt(tenant ledger.TenantID, id ledger.ReservationID) bool {
	return l.doubts.has(tenant, id)
}

func (l *Lanes) patience(k key) ledgerdb.Patience {
	if k.account != "" {
		return ledgerdb.WaitForLocks
	}
	return ledgerdb.SkipLockedAccounts
}

// finish answers calls that share a fate.
func finish(calls []*call, err error) {
	for _, c := range calls {
		c.finish(err)
	}
}
