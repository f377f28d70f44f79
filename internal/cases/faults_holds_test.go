package cases_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// A hundred identical calls through two servers; in half of the runs the transaction of the first one is rolled back, by an error or by
// the end of its connection.
func TestCase25OneCreationForAHundredCalls(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{
		"smooth": "", "smooth again": "", "rolled back": raise("40001"), "cut off": "PERFORM pg_terminate_backend(pg_backend_pid())",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSite(t)
			y := x.replica()
			if fault != "" {
				x.fault("INSERT ON reservations", once, fault)
			}
			const n = 100
			answers := make(chan *settlementv1.Granted, n)
			var calls sync.WaitGroup
			for i := range n {
				calls.Go(func() {
					answers <- grantedAtLast(t, []*site{x, y}[i%2], apptest.Reserve("r1", "k1", credits(apptest.Credits)))
				})
			}
			calls.Wait()
			created, stored := 0, x.Get(t, "r1")
			for range n {
				granted := <-answers
				if !granted.GetReplayed() {
					created++
				}
				if !proto.Equal(granted.GetReservation(), stored) {
					t.Errorf("another answer: %v", granted)
				}
			}
			if created != 1 || x.entries("reserve r1") != 1 {
				t.Errorf("created %d times", created)
			}
			x.wantCredits(0, apptest.Credits)
			x.whole()
		})
	}
}

// grantedAtLast comes again with the same id as long as the answer is that it may.
func grantedAtLast(t *testing.T, x *site, req *settlementv1.ReserveRequest) *settlementv1.Granted {
	for {
		resp, err := x.Reservations.Reserve(context.Background(), req)
		switch {
		case passing(err):
			continue
		case err != nil || resp.GetGranted() == nil:
			t.Errorf("%s: %v %v", req.GetReservationId(), resp, err)
		}
		return resp.GetGranted()
	}
}

// Each of the three holds fails in turn. A limit that is NULL, which the schema does not allow, is no limit of any size: it denies.
func TestCase31AllThreeHoldsOrNone(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	x.Granted(t, "before", "")
	before := x.holds()
	const constraints, guards = "ALTER TABLE %s ALTER %s DROP NOT NULL", "SET session_replication_role = replica; "
	for name, f := range map[string]struct {
		breaks, mends string
		want          codes.Code
	}{
		"credit: not allowed": {"REVOKE UPDATE (credits_held) ON accounts FROM settlementd_service",
			"GRANT UPDATE (credits_held) ON accounts TO settlementd_service", codes.Internal},
		"slot: not allowed": {"REVOKE UPDATE (slots_in_use) ON accounts FROM settlementd_service",
			"GRANT UPDATE (slots_in_use) ON accounts TO settlementd_service", codes.Internal},
		"in flight: not allowed": {"REVOKE UPDATE (in_flight) ON providers FROM settlementd_service",
			"GRANT UPDATE (in_flight) ON providers TO settlementd_service", codes.Internal},
		"budget: not allowed": {"REVOKE UPDATE (held_micros) ON budgets FROM settlementd_service",
			"GRANT UPDATE (held_micros) ON budgets TO settlementd_service", codes.Internal},
		"the hold itself: not allowed": {"REVOKE INSERT ON reservations FROM settlementd_service",
			"GRANT INSERT ON reservations TO settlementd_service", codes.Internal},
		"its entry: not allowed": {"REVOKE INSERT ON entries FROM settlementd_service",
			"GRANT INSERT ON entries TO settlementd_service", codes.Internal},
		"account: missing": {guards + "UPDATE accounts SET account_id = 'gone'; RESET session_replication_role",
			guards + "UPDATE accounts SET account_id = 'alice'; RESET session_replication_role", codes.NotFound},
		"provider: missing": {guards + "UPDATE providers SET provider_id = 'gone'; RESET session_replication_role",
			guards + "UPDATE providers SET provider_id = 'studio'; RESET session_replication_role", codes.NotFound},
		"slot limit: NULL": {fmt.Sprintf(constraints, "accounts", "slot_limit") + "; UPDATE accounts SET slot_limit = NULL",
			fmt.Sprintf("UPDATE accounts SET slot_limit = %d; ALTER TABLE accounts ALTER slot_limit SET NOT NULL", apptest.Slots), codes.OK},
		"budget limit: NULL": {fmt.Sprintf(constraints, "budgets", "limit_micros") + "; UPDATE budgets SET limit_micros = NULL",
			fmt.Sprintf("UPDATE budgets SET limit_micros = %d; ALTER TABLE budgets ALTER limit_micros SET NOT NULL", apptest.Limit), codes.OK},
	} {
		x.DB.Exec(f.breaks)
		resp, err := x.Reservations.Reserve(t.Context(), apptest.Reserve("r1", "k1"))
		x.DB.Exec(f.mends)
		if resp.GetGranted() != nil {
			t.Errorf("%s: granted", name)
		}
		wantCode(t, name, err, f.want)
		if after := x.holds(); after != before {
			t.Errorf("%s left %s instead of %s", name, after, before)
		}
		x.whole()
	}
	for name, row := range map[string]string{"account": theAccount, "provider": theProvider, "budget": theBudget} {
		h := x.hold(row)
		_, err := x.Reservations.Reserve(t.Context(), apptest.Reserve("r1", "k1"))
		h.release()
		wantCode(t, name+" locked", err, codes.Unavailable)
		if after := x.holds(); after != before {
			t.Errorf("%s locked left %s instead of %s", name, after, before)
		}
	}
	if granted := x.Granted(t, "r1", "k1"); granted.GetReplayed() {
		t.Error("remembered")
	}
	x.whole()
}

// holds shows everything that a reservation moves.
func (x *site) holds() string {
	x.t.Helper()
	return postgrestest.Value[string](x.DB, `SELECT concat_ws(' ',
		(SELECT sum(credits_available) || '+' || sum(credits_held) || ' credits, ' || sum(slots_in_use) || ' slots' FROM accounts),
		(SELECT sum(in_flight) || ' in flight' FROM providers),
		(SELECT sum(held_micros) || '+' || sum(spent_micros) || ' budget' FROM budgets),
		(SELECT count(*) || ' reservations' FROM reservations),
		(SELECT count(*) || ' lines' FROM lines),
		(SELECT count(*) || ' entries' FROM entries))`)
}

// Two hundred clients want the same budget row. It has room for all, so nobody is denied; then one account is locked, and the others,
// which share the budget with it, do not notice.
func TestCase32AHotBudget(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	x.roomy()
	y := x.replica()
	const clients, each = 200, 3
	for i := range clients / 10 {
		x.addAccount(fmt.Sprintf("a%d", i))
	}
	slowest := crowd(t, clients, func(i int) error {
		server, account := []*site{x, y}[i%2], from(fmt.Sprintf("a%d", i/10))
		for n := range each {
			id := fmt.Sprintf("r%d.%d", i, n)
			granted := grantedAtLast(t, server, apptest.Reserve(id, "k"+id, account, micros(10)))
			if granted == nil {
				return errors.New("denied or failed")
			}
			if _, err := server.Settlements.Settle(context.Background(), apptest.Settlement(id, "k"+id, apptest.Completed(apptest.Money(7)))); err != nil && !passing(err) {
				return err
			}
		}
		return nil
	})
	if slowest > time.Minute {
		t.Errorf("the slowest client took %v", slowest)
	}
	x.whole()

	h := x.hold("SELECT FROM accounts WHERE account_id = 'a0' FOR UPDATE")
	defer h.release()
	var locked sync.WaitGroup
	for i := range 10 {
		locked.Go(func() {
			resp, err := x.Reservations.Reserve(context.Background(), apptest.Reserve(fmt.Sprintf("locked%d", i), "", from("a0"), micros(10)))
			if !passing(err) && status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("on the locked account: %v %v", resp, err)
			}
		})
	}
	x.untilBlocked(1)
	slowest = crowd(t, 40, func(i int) error {
		id := fmt.Sprintf("disjoint%d", i)
		resp, err := x.Reservations.Reserve(context.Background(), apptest.Reserve(id, "", from(fmt.Sprintf("a%d", 1+i%19)), micros(10)))
		if err == nil && resp.GetGranted() == nil {
			err = fmt.Errorf("denied: %v", resp)
		}
		return err
	})
	if slowest > bounded {
		t.Errorf("beside a locked account the slowest client took %v", slowest)
	}
	locked.Wait()
	h.release()
	x.whole()
}

// crowd runs clients at once, and tells how long the slowest took.
func crowd(t *testing.T, n int, client func(i int) error) time.Duration {
	t.Helper()
	start := time.Now()
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() {
			if err := client(i); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	clients.Wait()
	return time.Since(start)
}
