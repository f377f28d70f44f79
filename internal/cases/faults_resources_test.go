package cases_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// oneConnection leaves one connection to each pool, and lets the sweep look all the time.
func oneConnection(c *app.Config) {
	c.PoolSize, c.ReadPoolSize, c.SweepInterval = 1, 1, 10*time.Millisecond
}

// Every call that writes and every one that reads, beside the sweep, while somebody keeps an account locked.
func TestOneConnectionIsEnough(t *testing.T) {
	t.Parallel()
	x := newSite(t, oneConnection)
	x.roomy()
	x.addAccount("bob")
	h := x.hold("SELECT FROM accounts WHERE account_id = 'bob' FOR UPDATE")
	crowd(t, 8, func(i int) error {
		_, err := x.Reservations.Reserve(context.Background(), apptest.Reserve(fmt.Sprintf("locked%d", i), "", from("bob")))
		if !passing(err) {
			return fmt.Errorf("on the locked account: %w", err)
		}
		return nil
	})
	for _, call := range writingCalls(t, x) {
		if err := call.do(t.Context(), x); err != nil {
			t.Errorf("%s: %v", call.name, err)
		}
	}
	crowd(t, 8, func(int) error {
		for _, req := range readingCalls() {
			if _, err := try(context.Background(), x.Service, req); err != nil {
				return fmt.Errorf("%T: %w", req, err)
			}
		}
		return nil
	})
	h.release()
	x.Granted(t, "short", "", ttl(1))
	postgrestest.Until(t, "the sweep comes by", func() bool {
		return x.Get(t, "short").GetState() == settlementv1.ReservationState_RESERVATION_STATE_EXPIRED
	})
	x.whole()
}

// readingCalls are calls of every kind that only reads, about what the writing ones have left.
func readingCalls() []proto.Message {
	return []proto.Message{
		&settlementv1.GetReservationRequest{TenantId: apptest.Tenant, ReservationId: "r1"},
		&settlementv1.ListReservationsRequest{TenantId: apptest.Tenant},
		&settlementv1.ListExceptionsRequest{TenantId: apptest.Tenant},
		&settlementv1.GetAccountRequest{TenantId: apptest.Tenant, AccountId: apptest.Account},
		&settlementv1.GetProviderRequest{TenantId: apptest.Tenant, ProviderId: apptest.Provider},
		&settlementv1.GetBudgetRequest{TenantId: apptest.Tenant, ProviderId: apptest.Provider},
		&settlementv1.GetLedgerRequest{TenantId: apptest.Tenant, AccountId: apptest.Account},
		&settlementv1.GetBalanceRequest{TenantId: apptest.Tenant, AccountId: apptest.Account},
	}
}

// More callers than may wait: some are turned away, with a hint when to come again, and none is denied.
func TestASheddingServerSaysSo(t *testing.T) {
	t.Parallel()
	x := newSite(t, func(c *app.Config) { c.QueueMax, c.BatchMax = 2, 1 })
	x.roomy()
	h := x.hold(theProvider)
	shed := make(chan error, 100)
	crowd(t, 30, func(i int) error {
		resp, err := x.Reservations.Reserve(context.Background(), apptest.Reserve(fmt.Sprintf("r%d", i), "", credits(1)))
		switch {
		case err == nil:
			return fmt.Errorf("answered with its provider locked: %v", resp)
		case status.Code(err) == codes.ResourceExhausted:
			shed <- err
		case !passing(err):
			return err
		}
		return nil
	})
	h.release()
	if len(shed) == 0 {
		t.Fatal("nobody was turned away")
	}
	wantRetryInfo(t, <-shed)
	for i := range 30 {
		if x.Granted(t, fmt.Sprintf("r%d", i), "", credits(1)).GetReplayed() {
			t.Errorf("r%d is remembered", i)
		}
	}
	x.whole()
}

// A tenant with a long queue lets another have its turn.
func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	x := newSite(t, func(c *app.Config) { c.PoolSize, c.BatchMax = 1, 1 })
	x.roomy()
	seedTenant(t, x.Service, "quiet")
	const noisy = 100
	left := make(chan int, noisy)
	done := make(chan struct{})
	go func() {
		defer close(done)
		crowd(t, noisy, func(i int) error {
			_, err := x.Reservations.Reserve(context.Background(), apptest.Reserve(fmt.Sprintf("r%d", i), "", credits(0), micros(0)))
			left <- i
			return err
		})
	}()
	<-left // they are at it
	resp, err := x.Reservations.Reserve(t.Context(), apptest.Reserve("r1", "", of("quiet")))
	if err != nil || resp.GetGranted() == nil {
		t.Errorf("the quiet tenant: %v %v", resp, err)
	}
	if n := len(left); n > noisy/2 {
		t.Errorf("the quiet tenant waited for %d calls of the noisy one", n)
	}
	<-done
	x.whole()
}

// A server that ends leaves nothing behind, whatever its callers did. It is not parallel: goroutines of other tests would be taken for its own.
func TestAServerLeavesNothingBehind(t *testing.T) {
	x := newSite(t)
	x.DB.Read() // what the test itself keeps
	x.whole()
	before := goleak.IgnoreCurrent()
	y := x.replica(func(c *app.Config) { c.SweepInterval = 10 * time.Millisecond })
	h := x.hold("SELECT FROM budgets FOR UPDATE")
	crowd(t, 50, func(i int) error {
		ctx, leave := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Millisecond)
		defer leave()
		id := fmt.Sprintf("r%d", i)
		_, _ = y.Reservations.Reserve(ctx, apptest.Reserve(id, "k"+id, credits(1)))
		_, _ = y.Settlements.Settle(ctx, apptest.Settlement(id, "k"+id, apptest.Failed(nil)))
		return nil
	})
	h.release()
	y.Stop()
	_ = y.Conn.Close()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	x.whole()
}
