package lane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres"
)

const (
	triesMax = 3
	// meetingsMax is how often a call comes again because of another batch of its tenant before it waits for its account.
	meetingsMax = 2
	// batchTime bounds a batch's stay in the database, far above the time limits of its locks and statements: only a COMMIT that hangs gets there.
	batchTime = 5 * time.Second
)

// process carries out calls as one transaction, and finds the culprit when it fails. Every call is answered or handed to another lane.
func (l *Lanes) process(k key, calls []*call, patience ledgerdb.Patience) {
	calls = present(calls)
	if len(calls) == 0 {
		return
	}
	deciding, err := l.attempt(k, &calls, patience)
	var doubt *ledgerdb.InDoubtError
	switch {
	case err == nil:
		for _, c := range calls {
			c.finish(c.err)
		}
	case errors.As(err, &doubt):
		l.resolve(k, calls, patience, doubt)
	case lostContact(err):
		l.again(k, calls, patience, fmt.Errorf("%w: %w", ErrUnavailable, err))
	case patience == ledgerdb.ShareProviders:
		// Whatever it was, it may have come of what was not locked.
		if ledgerdb.IsRefusedMove(err) || postgres.Classify(err) == postgres.LockTimeout {
			l.keepApart(k)
		}
		l.process(k, calls, ledgerdb.SkipLockedAccounts)
	case !deciding && postgres.Classify(err) == postgres.LockTimeout:
		l.afterLockTimeout(k, calls, patience, err)
	case len(calls) > 1:
		half := len(calls) / 2
		l.process(k, calls[:half], patience)
		l.process(k, calls[half:], patience)
	default:
		l.alone(k, calls, patience, err)
	}
}

// lostContact tells whether the database did not answer, or not within the batch's time.
func lostContact(err error) bool {
	class := postgres.Classify(err)
	return class == postgres.Unavailable || class == postgres.CallerLeft
}

// present drops the calls whose callers have left.
func present(calls []*call) []*call {
	return slices.DeleteFunc(calls, func(c *call) bool {
		err := c.ctx.Err()
		if err != nil {
			c.finish(err)
		}
		return err != nil
	})
}

// attempt runs one transaction. Calls on locked rows leave the batch before it is decided. It tells whether the failure came after the
// rows were loaded.
func (l *Lanes) attempt(k key, calls *[]*call, patience ledgerdb.Patience) (deciding bool, err error) {
	// The context of a caller must not reach the transaction: who leaves does not spoil it for the others.
	ctx, cancel := context.WithTimeout(context.Background(), batchTime)
	defer cancel()
	var keys ledger.Keys
	for _, c := range *calls {
		keys.Add(c.keys)
	}
	batch, err := l.store.Begin(ctx, k.tenant, keys, patience)
	if err != nil {
		return false, err
	}
	*calls = l.divert(k, *calls, batch.Blocked, patience)
	for _, c := range *calls {
		if batch.TenantExists {
			c.err = l.decide(c, batch.Book)
		} else {
			c.err = &ledger.Error{Kind: ledger.NotFound, Field: "tenant_id", Message: fmt.Sprintf("tenant %s does not exist", k.tenant)}
		}
	}
	if batch.Book.Scarce() {
		l.keepApart(k)
	}
	if patience == ledgerdb.ShareProviders && unsure(*calls, batch.Book) {
		batch.Rollback()
		return true, errUnsure
	}
	l.hideContradictions(*calls)
	return true, l.commit(ctx, k, *calls, batch)
}

// errUnsure says that an answer rests on a provider that was not locked.
var errUnsure = errors.New("lane: an answer rests on a provider that is not locked")

// unsure tells whether an answer may be another one with the provider locked: its lack of room is no ground for a denial before, and a
// contradiction none for an alarm.
func unsure(calls []*call, book *ledger.Book) bool {
	return book.Scarce() || slices.ContainsFunc(calls, func(c *call) bool { return errors.Is(c.err, ErrInternal) || contradicts(c.err) })
}

func contradicts(err error) bool {
	le, ok := errors.AsType[*ledger.Error](err)
	return ok && le.Kind == ledger.Broken
}

// hideContradictions tells the log, and not the callers, of rows that contradict each other.
func (l *Lanes) hideContradictions(calls []*call) {
	for _, c := range calls {
		if contradicts(c.err) {
			l.config.Log.Error("the ledger contradicts itself", "error", c.err, "reservations", c.keys.Reservations)
			c.err = ErrInternal
		}
	}
}

// decide runs a call's rule. A rule that panics or finds the rows contradicting each other has changed nothing, and its neighbours go on.
func (l *Lanes) decide(c *call, book *ledger.Book) (err error) {
	defer func() {
		if p := recover(); p != nil {
			book.Forget()
			l.config.Log.Error("a rule panicked", "panic", p, "stack", string(debug.Stack()))
			err = ErrInternal
		}
	}()
	return c.decide(book)
}

// divert takes the calls out of a batch that touch rows which somebody else has locked. Those on an account go to a lane that waits for
// it, unless another batch of the tenant may have it, which is soon over: then they come again. Those on a provider have waited before they
// got here. Where the rows were waited for, one is missing only if it appeared meanwhile: its call looks again.
func (l *Lanes) divert(k key, calls []*call, blocked ledgerdb.Blocked, patience ledgerdb.Patience) []*call {
	if blocked.None() {
		return calls
	}
	others := patience == ledgerdb.ShareProviders && l.others(k)
	all := len(calls)
	calls = slices.DeleteFunc(calls, func(c *call) bool {
		account, isBlocked := blocked.By(c.keys)
		switch {
		case !isBlocked:
			return false
		case patience == ledgerdb.WaitForLocks:
			l.lookAgain(k, c)
		case account == "" || patience == ledgerdb.SkipLocked:
			c.finish(fmt.Errorf("%w: a row stayed locked", ErrUnavailable))
		case others && c.meetings < meetingsMax:
			c.meetings++
			l.comeAgain(k, c)
		default:
			l.join(key{k.tenant, account}, c)
		}
		return true
	})
	if others && len(calls) < all/2 {
		l.keepApart(k)
	}
	return calls
}

// join hands a call to another lane.
func (l *Lanes) join(k key, c *call) {
	if err := l.enqueue(k, c); err != nil {
		c.finish(err)
	}
}

// lookAgain puts a call back into its lane, as often as it may be tried.
func (l *Lanes) lookAgain(k key, c *call) {
	if c.tries++; c.tries == triesMax {
		c.finish(fmt.Errorf("%w: its rows kept appearing", ErrAborted))
		return
	}
	l.comeAgain(k, c)
}

// afterLockTimeout handles rows that stayed locked while the batch was loaded. The tenant's lane takes the calls on them out and goes on;
// an account's lane has nothing to go on with, and who has waited once has waited enough.
func (l *Lanes) afterLockTimeout(k key, calls []*call, patience ledgerdb.Patience, err error) {
	if patience == ledgerdb.SkipLockedAccounts {
		l.process(k, calls, ledgerdb.SkipLocked)
		return
	}
	finish(calls, fmt.Errorf("%w: %w", ErrUnavailable, err))
}

// again tries the calls once more together, as often as each may be tried.
func (l *Lanes) again(k key, calls []*call, patience ledgerdb.Patience, err error) {
	var rest []*call
	for _, c := range calls {
		if c.tries++; c.tries < triesMax && l.stop.Err() == nil {
			rest = append(rest, c)
			continue
		}
		c.finish(err)
	}
	l.process(k, rest, patience)
}

// alone answers the culprit of a failed batch: it is tried again when the fault may pass.
func (l *Lanes) alone(k key, calls []*call, patience ledgerdb.Patience, err error) {
	switch postgres.Classify(err) {
	case postgres.LostRace, postgres.Retryable:
		if ledgerdb.IsEntryConflict(err) {
			break // the rows were locked: nobody else can have written this event
		}
		l.again(k, calls, patience, fmt.Errorf("%w: %w", ErrAborted, err))
		return
	case postgres.LockTimeout, postgres.StatementTimeout:
		l.again(k, calls, patience, fmt.Errorf("%w: %w", ErrUnavailable, err))
		return
	default: // it does not pass by itself
	}
	l.config.Log.Error("the database refused a change", "error", err, "tenant", k.tenant,
		slog.Any("reservations", calls[0].keys.Reservations), slog.Any("accounts", calls[0].keys.Accounts))
	finish(calls, ErrInternal)
}
