package statements

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/reconcile/statements/statementdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// confirmAtOnce is how many lines are with the ledger at a time: enough to share transactions, and few enough to leave the tenant's queue
// to its customers.
const confirmAtOnce = 256

// verdict is the record of a line, or the fault for which it has none yet.
type verdict struct {
	line statementdb.Line
	err  error
}

// judge gives each line of a page its verdict. Lines about the same request come one after the other, as the statement has them.
func (im *imported) judge(ctx context.Context, page []charge) ([]verdict, error) {
	found, err := im.findRequests(ctx, page)
	if err != nil {
		return nil, err
	}
	verdicts := make([]verdict, len(page))
	about := map[ledger.RequestKey][]int{} // lines by their request
	for i := range page {
		l, miss := found.match(&page[i])
		if l == nil {
			verdicts[i].line = miss
			continue
		}
		about[l.Key] = append(about[l.Key], i)
	}
	var keys []ledger.RequestKey
	for key := range about {
		keys = append(keys, key)
	}
	listed, err := im.server.store.Listed(ctx, im.id, keys)
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.SetLimit(confirmAtOnce)
	for key, lines := range about {
		group.Go(func() error {
			l, charged := *found.byKey[key], listed[key]
			for _, i := range lines {
				verdicts[i].line, verdicts[i].err = im.confirm(ctx, &page[i], &l, charged)
				charged = true
			}
			return nil
		})
	}
	return verdicts, group.Wait()
}

// confirm compares a charge with what is on record for its request, and makes it known where nothing is. The line is then as the ledger
// left it. Charged tells that the statement has named the request before.
func (im *imported) confirm(ctx context.Context, c *charge, l *ledger.Line, charged bool) (statementdb.Line, error) {
	if im.stands(c, l) {
		return im.known(c, l, charged), nil
	}
	proof := ledger.Proof{
		Reservation: l.Reservation, Key: l.Key, Kind: ledger.ProofCostConfirmed, Cost: c.cost,
		Source: ledger.Source{Kind: sourceKind, Reference: im.reference(c)},
	}
	answer, err := im.server.prove(ctx, im.id.Tenant, proof)
	if err != nil {
		if why, listed := blame(err); listed {
			return c.settled(l, statementdb.Bad, why), nil
		}
		return statementdb.Line{}, err
	}
	if at := slices.IndexFunc(answer.View.Lines, func(x ledger.Line) bool { return x.Key == l.Key }); at >= 0 {
		*l = answer.View.Lines[at]
	}
	switch answer.Disposition {
	case ledger.Applied:
		return c.settled(l, statementdb.Matched, ""), nil
	case ledger.Replayed:
		return im.known(c, l, charged), nil
	default:
		return im.mismatch(c, l, answer.Exceptions), nil
	}
}

var sourceKind = wire.SourceKinds.Word(settlementv1.SourceKind_SOURCE_KIND_PROVIDER_STATEMENT)

// reference tells where the evidence came from, to the line.
func (im *imported) reference(c *charge) string {
	return fmt.Sprintf("statement %s line %d", im.id.Statement, c.number)
}

// stands tells whether the charge is on record.
func (im *imported) stands(c *charge, l *ledger.Line) bool {
	recorded := onRecord(l)
	return recorded != nil && *c.cost == ledger.Money{Micros: *recorded, Currency: im.currency}
}

// known is the verdict on a charge that the ledger has nothing to learn from.
func (im *imported) known(c *charge, l *ledger.Line, charged bool) statementdb.Line {
	switch {
	case !im.stands(c, l): // the ledger remembers this cost, but an operator has put it right since
		return im.mismatch(c, l, nil)
	case l.Evidence != nil && l.Evidence.Source == ledger.Source{Kind: sourceKind, Reference: im.reference(c)}:
		return c.settled(l, statementdb.Matched, "") // this very line made it known, and the import died before it was recorded
	case charged:
		return c.settled(l, statementdb.Repeated, "an earlier line of the statement charges the same request")
	default:
		return c.settled(l, statementdb.Known, "")
	}
}

func (im *imported) mismatch(c *charge, l *ledger.Line, exceptions []ledger.ExceptionRef) statementdb.Line {
	reason := fmt.Sprintf("charged in %s, and the provider's currency is %s", c.cost.Currency, im.currency)
	if c.cost.Currency == im.currency {
		reason = fmt.Sprintf("%s %s by the statement, %s on record", c.cost.Micros.Decimal(), c.cost.Currency, onRecord(l).Decimal())
	}
	record := c.settled(l, statementdb.Mismatch, reason)
	if len(exceptions) > 0 {
		record.Exception = exceptions[0].ID
	}
	return record
}

// blame tells whether an error is about this one line, so that it is listed and the others go on, and what to say of it.
func blame(err error) (why string, listed bool) {
	if le, ok := errors.AsType[*ledger.Error](err); ok {
		return le.Error(), true
	}
	return "the ledger contradicts itself here; the server's log tells how", errors.Is(err, lane.ErrInternal)
}

// patience is how long a line waits before each further try while the ledger is busy with its rows.
var patience = []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}

// prove takes evidence on the ordinary path. Evidence is safe to repeat. Where the tenant's queue is full, others go first: a statement has
// time.
func (s *Server) prove(ctx context.Context, tenant ledger.TenantID, proof ledger.Proof) (ledger.Answer, error) {
	for try := 0; ; {
		answer, err := lane.Do(ctx, s.lanes, tenant, proof.Keys(), func(b *ledger.Book) (ledger.Answer, error) { return b.Reconcile(proof) })
		pause := patience[0]
		switch passes := errors.Is(err, lane.ErrUnavailable) || errors.Is(err, lane.ErrAborted); {
		case errors.Is(err, lane.ErrBusy):
		case passes && try < len(patience):
			pause, try = patience[try], try+1
		default:
			return answer, err
		}
		if !s.pause(ctx, pause) {
			return answer, err
		}
	}
}

// pause waits, and tells whether there is any use in going on.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-s.stopping:
		return false
	}
}
