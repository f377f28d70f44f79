package statements

import (
	"context"
	"sync"

	"github.com/settlementd/settlementd/internal/reconcile/statements/statementdb"
)

// turns lets the imports of one statement take turns, a page each. An import whose client died may still be busy with its last page when
// the next one comes: taking the page twice would harm nothing, but count its conflicts twice.
type turns struct {
	mu    sync.Mutex
	taken map[statementdb.ID]chan struct{}
}

// take waits for a turn, and returns what ends it.
func (t *turns) take(ctx context.Context, id statementdb.ID) (end func(), err error) {
	for {
		busy := t.begin(id)
		if busy == nil {
			return func() { t.end(id) }, nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begin takes the turn if nobody has it, or returns what is closed when its holder ends it.
func (t *turns) begin(id statementdb.ID) (busy <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if busy, ok := t.taken[id]; ok {
		return busy
	}
	if t.taken == nil {
		t.taken = map[statementdb.ID]chan struct{}{}
	}
	t.taken[id] = make(chan struct{})
	return nil
}

func (t *turns) end(id statementdb.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.taken[id])
	delete(t.taken, id)
}
