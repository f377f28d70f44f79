package lane

import (
	"context"
	"errors"
	"log/slog"
	"sync"

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
	TurnsMax int // transactions that are in the database at a time; at most the size of the pool
	// RunnersMax is how many batches of a tenant are in the database at a time. Each but the first is a full one.
	RunnersMax int
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
	if ln, found := l.lanes[k]; found && len(ln.queue)+len(calls) > l.config.QueueMax {
		return ErrBusy
	}
	l.add(k, calls...)
	return nil
}

// add puts calls into a lane, and has it worked off.
func (l *Lanes) add(k key, calls ...*call) {
	ln, found := l.lanes[k]
	if !found {
		ln = &lane{key: k}
		l.lanes[k] = ln
	}
	ln.queue = append(ln.queue, calls...)
	for l.wantsRunner(ln) {
		ln.runners++
		ln.coming++
		l.running.Go(func() { l.run(ln) })
	}
}

// comeAgain puts a call back into the lane that it was taken from. It was let in before: the lane has room for it, also while the lanes are
// being closed.
func (l *Lanes) comeAgain(k key, c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(k, c)
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
