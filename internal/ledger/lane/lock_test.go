package lane_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

func TestALockedAccountWaitsInALaneOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.lock(lockAccount, acme, alice)
	waits := make(chan error, 1)
	go func() {
		_, err := w.reserve(t.Context(), reserve("r1", alice))
		waits <- err
	}()
	w.untilWaiting(1)
	for i := range 20 { // one after the other, in the time that the first one waits
		w.granted(reserve(fmt.Sprintf("b%d", i), bob))
	}
	l.release()
	// On a machine so busy that its neighbours took longer than it may wait, the call is told so; a denial or anything else is wrong.
	if err := <-waits; err != nil && !errors.Is(err, lane.ErrUnavailable) {
		t.Errorf("after the lock: %v", err)
	}
	w.granted(reserve("r1", alice))
	w.sound()
}

func TestALockThatStaysIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"account":  lockAccount,
		"provider": "SELECT FROM providers WHERE tenant_id = $1 AND $2 <> '' FOR UPDATE",
		"budget":   "SELECT FROM budgets WHERE tenant_id = $1 AND $2 <> '' FOR UPDATE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.granted(reserve("before", bob))
			l := w.lock(query, acme, alice)
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			if _, err := w.reserve(ctx, reserve("r1", alice)); !errors.Is(err, lane.ErrUnavailable) {
				t.Errorf("reserve on a locked %s: %v", name, err)
			}
			if name != "account" {
				if _, err := w.cancel(ctx, "before"); !errors.Is(err, lane.ErrUnavailable) {
					t.Errorf("settle on a locked %s: %v", name, err)
				}
			}
			l.release()
			if again := w.granted(reserve("r1", alice)); again.Replayed {
				t.Error("the call that was unavailable was remembered")
			}
			w.sound()
		})
	}
}

// The row of a reservation is locked, as by a call on it at another server. Its account is not.
func TestALockedReservationWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.granted(reserve("r1", alice))
	l := w.lock("SELECT FROM reservations WHERE tenant_id = $1 AND reservation_id = 'r1' FOR UPDATE", acme)
	ended := make(chan error, 1)
	go func() {
		_, err := w.cancel(t.Context(), "r1")
		ended <- err
	}()
	w.untilWaiting(1)
	w.granted(reserve("r2", bob))
	l.release()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	w.sound()
}

// Another server makes the same reservation while this one waits for the account. The credits that it took must not look like a lack of
// them: the call finds the reservation that stands.
func TestAWaitEndsInTheTruthOfItsWinner(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprintf("alone=%t", alone), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *lane.Config) { c.Alone = alone })
			in := reserve("r1", alice, credits)
			other, err := ledgerdb.New(w.db.Ledger()).Begin(t.Context(), acme, in.Keys(), ledgerdb.WaitForLocks)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Rollback()
			type result struct {
				answer ledger.ReserveAnswer
				err    error
			}
			waits := make(chan result, 1)
			go func() {
				answer, err := w.reserve(t.Context(), in)
				waits <- result{answer, err}
			}()
			w.untilWaiting(1)
			if _, err := ledger.Decide(other.Book, func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) }); err != nil {
				t.Fatal(err)
			}
			if err := other.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := <-waits; r.err != nil || !r.answer.Replayed {
				t.Errorf("the call that waited: %+v %v", r.answer.Denied, r.err)
			}
			w.sound()
		})
	}
}

// The same for an account that another server makes meanwhile, and a call that needs a reservation which appears.
func TestAWaitFindsTheReservationThatAppeared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := reserve("r1", alice)
	other, err := ledgerdb.New(w.db.Ledger()).Begin(t.Context(), acme, in.Keys(), ledgerdb.WaitForLocks)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	settled := make(chan error, 1)
	go func() {
		keys := ledger.Keys{Reservations: []ledger.ReservationID{"r1"}, Accounts: []ledger.AccountID{alice}}
		_, err := lane.Do(t.Context(), w.lanes, acme, keys, func(b *ledger.Book) (ledger.Expiry, error) { return b.Expire("r1") })
		settled <- err
	}()
	w.untilWaiting(1)
	if _, err := ledger.Decide(other.Book, func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) }); err != nil {
		t.Fatal(err)
	}
	if err := other.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-settled; err != nil {
		t.Errorf("the call that waited: %v", err)
	}
}

// An exception belongs to the reservation that it is of, and is not locked itself: a session that is none of ours and holds it is met when
// it is written.
func TestALockedExceptionFailsItsOwnCallOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.granted(reserve("r", bob))
	report := ledger.Report{Reservation: "r", Key: "unknown", Knowledge: ledger.LineNotSent, Token: "t"}
	refused, err := lane.Do(t.Context(), w.lanes, acme, report.Keys(), func(b *ledger.Book) (ledger.Answer, error) { return b.Report(report) })
	if err != nil || len(refused.Exceptions) != 1 {
		t.Fatalf("%v %v", refused.Exceptions, err)
	}
	l := w.lock("SELECT FROM exceptions WHERE tenant_id = $1 FOR UPDATE", acme)
	resolve := ledger.Resolve{Exception: refused.Exceptions[0].ID, Reservation: "r", As: ledger.Dismissed, Reason: "seen"}
	decide := func() error {
		_, err := lane.Do(t.Context(), w.lanes, acme, resolve.Keys(), func(b *ledger.Book) (ledger.ResolveAnswer, error) { return b.Resolve(resolve) })
		return err
	}
	g := w.gate(acme)
	resolved, granted := make(chan error, 1), make(chan error, 1)
	go func() { resolved <- decide() }()
	go func() {
		_, err := w.reserve(t.Context(), reserve("r1", alice))
		granted <- err
	}()
	w.untilQueued(acme, 2)
	g.open(t)
	if err := <-granted; err != nil {
		t.Errorf("its neighbour: %v", err)
	}
	if err := <-resolved; !errors.Is(err, lane.ErrUnavailable) {
		t.Errorf("the resolution: %v", err)
	}
	l.release()
	if err := decide(); err != nil {
		t.Errorf("after the lock: %v", err)
	}
	w.sound()
}

func TestManyLockedAccountsDoNotStallTheirNeighbours(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *lane.Config) { c.TurnsMax = 2 })
	const locked = 30
	for i := range locked {
		w.db.Exec(`INSERT INTO accounts VALUES ($1, $2, $3, 0, 0, 0, 1000, 0, false, now())`, acme, fmt.Sprintf("locked%d", i), credits)
	}
	w.lock("SELECT FROM accounts WHERE tenant_id = $1 AND account_id LIKE 'locked%' FOR UPDATE", acme)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for i := range locked {
		go func() {
			for n := 0; ctx.Err() == nil; n++ { // its caller tries again and again
				_, _ = w.reserve(ctx, reserve(fmt.Sprintf("r%d.%d", i, n), ledger.AccountID(fmt.Sprintf("locked%d", i))))
			}
		}()
	}
	w.untilWaiting(1)
	start := time.Now()
	for i := range 5 {
		w.granted(reserve(fmt.Sprintf("b%d", i), bob))
	}
	if took := time.Since(start); took > soon/4 {
		t.Errorf("5 calls on a free account took %v", took)
	}
}

func TestALockedTenantDoesNotStallAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *lane.Config) { c.TurnsMax = 2 })
	seed(w.db, "other", alice)
	w.lock("SELECT FROM providers WHERE tenant_id = $1 FOR UPDATE", acme)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for i := range 10 {
		go func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, _ = w.reserve(ctx, reserve(fmt.Sprintf("r%d.%d", i, n), alice))
			}
		}()
	}
	w.untilWaiting(1)
	for i := range 10 {
		if _, err := w.reserveIn(t.Context(), "other", reserve(fmt.Sprintf("r%d", i), alice)); err != nil {
			t.Errorf("the other tenant: %v", err)
		}
	}
}
