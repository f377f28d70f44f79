package lane

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres"
)

const (
	// doubtTime is how long callers wait for the fate of a lost COMMIT before they are told to come again.
	doubtTime = 2 * time.Second
	doubtPoll = 20 * time.Millisecond
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

// resolve finds out what became of a transaction whose COMMIT got no answer. Its own status decides: a plain read would miss a commit that
// hangs, and a second COMMIT could commit something else. Committed, the answers that were decided are the true ones; aborted, the calls
// are decided anew. While it is undecided, nobody gets a definite answer.
func (l *Lanes) resolve(k key, calls []*call, patience ledgerdb.Patience, xid uint64) {
	l.doubts.add(k.tenant, calls, 1)
	status := l.fate(xid, time.Now().Add(doubtTime))
	if status == postgres.InProgress {
		finish(calls, fmt.Errorf("%w: the fate of its transaction is not known yet", ErrUnavailable))
		l.doubts.waiting.Go(func() {
			l.fate(xid, time.Time{})
			l.doubts.add(k.tenant, calls, -1)
		})
		return
	}
	l.doubts.add(k.tenant, calls, -1)
	switch status {
	case postgres.Committed:
		for _, c := range calls {
			c.done <- c.err
		}
	case postgres.Aborted:
		l.again(k, calls, patience, fmt.Errorf("%w: its transaction was lost", ErrUnavailable))
	default:
		finish(calls, fmt.Errorf("%w: the fate of its transaction cannot be known", ErrUnavailable))
	}
}

// fate asks for a transaction's status until it is decided, the time is up (zero: never), or the lanes are closed for good.
func (l *Lanes) fate(xid uint64, until time.Time) postgres.Status {
	ticker := time.NewTicker(doubtPoll)
	defer ticker.Stop()
	for {
		ctx, cancel := context.WithTimeout(l.stop, doubtTime)
		status, err := l.store.Fate(ctx, xid)
		cancel()
		if err == nil && status != postgres.InProgress {
			return status
		}
		if !until.IsZero() && time.Now().After(until) {
			return postgres.InProgress
		}
		select {
		case <-ticker.C:
		case <-l.stop.Done():
			return postgres.InProgress
		}
	}
}
