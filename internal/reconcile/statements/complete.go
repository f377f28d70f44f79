package statements

import (
	"context"
	"fmt"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/reconcile/statements/statementdb"
)

// scanSize is how many requests of the journal are looked at in one statement.
const scanSize = 5000

// complete ends an import: it finds the requests that the statement ought to list and does not.
func (im *imported) complete(ctx context.Context) (statementdb.Statement, error) {
	end, err := im.server.turns.take(ctx, im.id)
	if err != nil {
		return statementdb.Statement{}, err
	}
	defer end()
	if im.period != (statementdb.Period{}) {
		if err := im.findAbsent(ctx); err != nil {
			return statementdb.Statement{}, err
		}
	}
	return im.server.store.Complete(ctx, im.id)
}

// findAbsent goes through the tenant's requests in the order of their keys, so that neither a list nor a transaction grows with them.
func (im *imported) findAbsent(ctx context.Context) error {
	page := ledgerdb.PeriodPage{Provider: im.id.Provider, Start: im.period.Start, End: im.period.End, Scan: scanSize}
	for {
		found, last, err := im.server.reader.ChargedRequests(ctx, im.id.Tenant, page)
		if err != nil {
			return err
		}
		if last == "" {
			return nil
		}
		candidates := make([]statementdb.Line, len(found))
		for i := range found {
			candidates[i] = absent(&found[i])
		}
		if err := im.server.store.FindAbsent(ctx, im.id, page.After, last, candidates); err != nil {
			return err
		}
		page.After = last
	}
}

// absent is the finding about a request if the statement does not list it.
func absent(l *ledger.Line) statementdb.Line {
	cost := "is on record"
	if l.Cost == nil {
		cost = "is not known yet"
	}
	reason := fmt.Sprintf("permitted at %s, %s, its cost %s", l.PermittedAt.Format(time.RFC3339), l.Knowledge, cost)
	return statementdb.Line{
		Verdict: statementdb.UnknownToThem, Key: l.Key, Task: l.Task, Reservation: l.Reservation, Recorded: onRecord(l), Reason: reason,
	}
}
