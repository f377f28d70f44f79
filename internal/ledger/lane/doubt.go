package lane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

const (
	// doubtAfter is how long the answer to COMMIT, and to the writes before it, may take before what it touches is in doubt: until then a read of the state before it is
	// as good as any.
	doubtAfter = 500 * time.Millisecond
	// doubtTime is how long callers wait for the fate of a lost COMMIT before they are told to come again.
	doubtTime = 2 * time.Second
	// doubtPollMin and doubtPollMax are how long to wait between two questions about a fate, first and at last: while a standby is away every
	// batch that was sent leaves one to ask about.
	doubtPollMin = 20 * time.Millisecond
	doubtPollMax = 500 * time.Millisecond
)

// doubts keeps the reservations that transactions of unknown fate have touched.
type doubts struct {
	mu      sync.Mutex
	touched map[doubtful]int
	waiting sync.WaitGroup
}

type doubtful struct {
	tenant ledger.TenantID
	id     ledger.ReservationID
}

func (d *doubts) has(tenant ledger.TenantID, id ledger.ReservationID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.touched[doubtful{tenant, id}] > 0
}

func (d *doubts) add(tenant ledger.TenantID, calls []*call, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.touched == nil {
		d.touched = map[doubtful]int{}
	}
	for _, c := range calls {
		for _, id := range c.keys.Reservations {
			k := doubtful{tenant, id}
			if d.touched[k] += n; d.touched[k] == 0 {
				delete(d.touched, k)
			}
		}
	}
}

func (d *doubts) wait() { d.waiting.Wait() }

// commit ends a batch. What it touches is in doubt from when the answer to COMMIT is late until it comes, or until resolve has found out
// what became of it.
func (l *Lanes) commit(ctx context.Context, k key, calls []*call, batch *ledgerdb.Batch) error {
	marked := make(chan struct{})
	late := time.AfterFunc(doubtAfter, func() {
		defer close(marked)
		l.doubts.add(k.tenant, calls, 1)
	})
	err := batch.Commit(ctx)
	if _, lost := errors.AsType[*ledgerdb.InDoubtError](err); lost {
		l.doubts.add(k.tenant, calls, 1)
	}
	if !late.Stop() {
		<-marked
		l.doubts.add(k.tenant, calls, -1)
	}
	return err
}

// resolve finds out what became of a transaction whose COMMIT got no answer. A second COMMIT could commit something else, so it is never
// sent. If the transaction stands, the answers that were decided are the true ones; if it was lost, the calls are decided anew. While it is
// undecided, nobody gets a definite answer.
func (l *Lanes) resolve(k key, calls []*call, patience ledgerdb.Patience, doubt *ledgerdb.InDoubtError) {
	switch l.fate(doubt, time.Now().Add(doubtTime)) {
	case ledgerdb.Stands:
		l.doubts.add(k.tenant, calls, -1)
		for _, c := range calls {
			c.finish(c.err)
		}
	case ledgerdb.Lost:
		l.doubts.add(k.tenant, calls, -1)
		l.again(k, calls, patience, fmt.Errorf("%w: its transaction was lost", ErrUnavailable))
	default:
		finish(calls, fmt.Errorf("%w: the fate of its transaction is not known yet", ErrUnavailable))
		l.doubts.waiting.Go(func() {
			l.fate(doubt, time.Time{})
			l.doubts.add(k.tenant, calls, -1)
		})
	}
}

// fate asks what became of a transaction until that is decided, the time is up (zero: never), or the lanes are closed for good.
func (l *Lanes) fate(doubt *ledgerdb.InDoubtError, until time.Time) ledgerdb.Fate {
	for wait := doubtPollMin; ; wait = min(2*wait, doubtPollMax) {
		ctx, cancel := context.WithTimeout(l.stop, doubtTime)
		fate, err := l.store.Fate(ctx, doubt)
		cancel()
		if err == nil && fate != ledgerdb.Undecided {
			return fate
		}
		if !until.IsZero() && time.Now().After(until) {
			return ledgerdb.Undecided
		}
		select {
		case <-time.After(wait):
		case <-l.stop.Done():
			return ledgerdb.Undecided
		}
	}
}
