package cases_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// onServer is a service on a database server of the test's own.
func onServer(t *testing.T, server *postgrestest.Server, change ...func(*app.Config)) *site {
	t.Helper()
	x := &site{apptest.On(t, server.New(), change...), t}
	if _, err := x.Accounts.PutTenant(t.Context(), &settlementv1.PutTenantRequest{TenantId: apptest.Tenant}); err != nil {
		t.Fatal(err)
	}
	x.Seed(t)
	return x
}

// indefinite checks that an answer leaves open whether the call was carried out.
func indefinite(t *testing.T, what string, err error) {
	t.Helper()
	switch status.Code(err) {
	case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded:
	default:
		t.Errorf("%s: a definite answer while nobody can know: %v", what, err)
	}
}

// COMMIT waits for a standby that does not come. The call waits, its caller comes again with the same id, and somebody looks: nobody gets a
// definite answer until the transaction is decided, and then the stored one.
func TestCase51ACommitThatHangs(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t, nil)
	x := onServer(t, server)
	x.Granted(t, "open", "k0", credits(10))
	server.HangCommits()

	rest := credits(apptest.Credits - 10) // a second run of it would be denied
	first := make(chan error, 2)
	go func() {
		_, err := x.Reservations.Reserve(context.Background(), apptest.Reserve("r1", "k1", rest))
		first <- err
	}()
	look := func(id string) error {
		_, err := x.Reservations.GetReservation(t.Context(), &settlementv1.GetReservationRequest{TenantId: apptest.Tenant, ReservationId: id})
		return err
	}
	// Until its answer is late, a reader is told what stood before, as at any time. Then he is told that nobody knows.
	postgrestest.Until(t, "the reader is told that nobody knows", func() bool { return status.Code(look("r1")) == codes.Unavailable })
	for range 3 {
		ctx, leave := context.WithTimeout(t.Context(), 700*time.Millisecond)
		_, err := x.Reservations.Reserve(ctx, apptest.Reserve("r1", "k1", rest))
		leave()
		indefinite(t, "the same call", err)
		indefinite(t, "a look", look("r1"))
	}
	indefinite(t, "the first call", <-first)
	indefinite(t, "a look after the first call was answered", look("r1"))
	_, err := x.Reservations.Reserve(t.Context(), apptest.Reserve("r1", "k1", rest))
	indefinite(t, "the same call, after the first one was answered", err)

	server.ReleaseCommits()
	granted := grantedAtLast(t, x, apptest.Reserve("r1", "k1", rest))
	if !granted.GetReplayed() {
		t.Error("carried out a second time")
	}
	postgrestest.Until(t, "the reader sees it", func() bool { return look("r1") == nil })
	x.wantCredits(0, apptest.Credits)
	if n := x.entries("reserve r1"); n != 1 {
		t.Errorf("%d entries", n)
	}
	x.whole()
}

// The same for Settle, with a server that is told to stop meanwhile: it does not wait for ever, and what it could not know it did not say.
func TestCase51ASettleThatHangs(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t, nil)
	x := onServer(t, server, func(c *app.Config) { c.ShutdownTimeout = time.Second })
	x.Granted(t, "r1", "k1")
	server.HangCommits()
	first := make(chan error, 1)
	go func() {
		_, err := x.Settlements.Settle(context.Background(), apptest.Settlement("r1", "k1", apptest.Failed(nil)))
		first <- err
	}()
	postgrestest.Until(t, "COMMIT hangs", func() bool {
		return x.number("SELECT count(*) FROM pg_stat_activity WHERE usename = 'settlementd_service' AND wait_event = 'SyncRep'") == 1
	})
	x.Stop()
	indefinite(t, "the call", <-first)

	y := x.replica()
	ctx, leave := context.WithTimeout(t.Context(), 3*time.Second)
	_, err := y.Settlements.Settle(ctx, apptest.Settlement("r1", "k1", apptest.Failed(nil)))
	leave()
	indefinite(t, "the same call at another server", err)
	server.ReleaseCommits()
	postgrestest.Until(t, "the settlement is known", func() bool {
		resp, err := y.Settlements.Settle(t.Context(), apptest.Settlement("r1", "k1", apptest.Failed(nil)))
		if err != nil {
			indefinite(t, "the same call", err)
			return false
		}
		wantDisposition(t, resp, nil, settlementv1.Disposition_DISPOSITION_REPLAYED)
		return true
	})
	y.wantCredits(apptest.Credits, 0)
	y.whole()
}

// The database server dies with a COMMIT under way, and comes back: what was answered OK is there, and the rest may come again.
func TestCase51TheDatabaseIsKilled(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t, nil)
	x := onServer(t, server)
	x.roomy()
	x.addAccount("bob")
	const clients = 8
	ok := make([][]string, clients)
	crashed := make(chan struct{})
	working := make(chan struct{}, clients*1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		crowd(t, clients, func(i int) error {
			for n := 0; ; n++ {
				select {
				case <-crashed:
					return nil
				default:
				}
				id := string(rune('a'+i)) + strings.Repeat("x", n%50) + string(rune('a'+n%26)) + string(rune('a'+n/26%26))
				resp, err := x.Reservations.Reserve(context.Background(), apptest.Reserve(id, "", from("bob"), micros(0), credits(0)))
				switch {
				case err == nil && resp.GetGranted() != nil:
					ok[i] = append(ok[i], id)
					select {
					case working <- struct{}{}:
					default:
					}
				case err == nil:
					t.Errorf("denied: %v", resp)
				default:
					indefinite(t, "a call", err)
				}
			}
		})
	}()
	for range 100 {
		<-working
	}
	server.Kill()
	close(crashed)
	<-done
	server.Start()
	y := x.replica()
	for _, ids := range ok {
		for _, id := range ids {
			y.Get(t, id)
		}
	}
	postgrestest.Until(t, "the server that was there all along has found it again", func() bool {
		_, err := x.Reservations.Reserve(t.Context(), apptest.Reserve("after", "", from("bob"), micros(0)))
		return err == nil
	})
	y.Verify(t)
}
