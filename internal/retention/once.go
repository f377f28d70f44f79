package retention

import (
	"context"
	"errors"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

// Once is one walk through all of a tenant's reservations.
type Once struct {
	Tenant    ledger.TenantID
	OlderThan time.Duration
	Chunk     int
}

// Count is what a walk has done so far.
type Count struct {
	Looked, Archived, Chunks int

	Failures []*Failure // what cannot be archived, and was passed
}

// Run walks to the end, or until ten reservations cannot be archived. After each chunk, which stands then, it tells how far it has come. After an
// error, what was counted has been done, and perhaps one chunk more; another walk goes on with what is left.
func (o Once) Run(ctx context.Context, store *ledgerdb.Store, progress func(Count)) (Count, error) {
	w := walk{store: store, tenant: o.Tenant, olderThan: o.OlderThan, chunk: o.Chunk}
	var c Count
	for more := true; more && len(c.Failures) < failuresMax; {
		var chunk ledgerdb.Archived
		var err error
		chunk, more, err = w.step(ctx)
		if failure, one := errors.AsType[*Failure](err); one {
			c.Failures = append(c.Failures, failure)
		} else if err != nil {
			return c, err
		}
		if chunk.Looked > 0 {
			c.Looked, c.Archived, c.Chunks = c.Looked+chunk.Looked, c.Archived+chunk.Moved, c.Chunks+1
			progress(c)
		}
	}
	return c, nil
}
