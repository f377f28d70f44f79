package retention

import (
	"context"
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
}

// Run walks to the end. After each chunk, which stands then, it tells how far it has come. After an error, what was counted has been done, and
// perhaps one chunk more; another walk goes on with what is left.
func (o Once) Run(ctx context.Context, store *ledgerdb.Store, progress func(Count)) (Count, error) {
	var c Count
	var at ledgerdb.Cursor
	for {
		chunk, err := store.Archive(ctx, o.Tenant, ledgerdb.ArchivePage{After: at, OlderThan: o.OlderThan, Scan: o.Chunk})
		if err != nil {
			return c, err
		}
		if chunk.Looked > 0 {
			c.Looked, c.Archived, c.Chunks = c.Looked+chunk.Looked, c.Archived+chunk.Moved, c.Chunks+1
			at = chunk.Last
			progress(c)
		}
		if chunk.Looked < o.Chunk {
			return c, nil
		}
	}
}
