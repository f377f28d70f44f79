package cases_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// icuSite is a service on a database whose own order is not that of bytes. The environment belongs to the whole process, so the tests that
// call this are not parallel.
func icuSite(t *testing.T) *site {
	t.Helper()
	t.Setenv("SETTLEMENTD_TEST_ICU", "1")
	x := onServer(t, postgrestest.NewServer(t, nil))
	if !postgrestest.Value[bool](x.DB, "SELECT 'a' < 'B'") {
		t.Fatal("this database sorts as Go does, so it shows nothing")
	}
	x.roomy()
	return x
}

// ids that every collation but that of bytes sorts in another order, and that some find equal.
var ids = []string{"B", "a", "A", "b", "-a", "_a", "~a", "a-", "a~", "a.b", "aB", "ab", "AB", "10", "9", "1_0", "!", "co-op", "coop", "Coop"}

func TestCase49PagesAreSortedAsGoSorts(t *testing.T) {
	x := icuSite(t)
	x.DB.Exec(`CREATE OR REPLACE FUNCTION settlement_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		RETURN timestamptz '2030-01-01 12:00:00+00'`) // everything is equally old
	for _, id := range ids {
		x.Granted(t, id, "", credits(0), micros(0))
	}
	for size := int32(1); size <= int32(len(ids)); size += 3 {
		var got []string
		for token := ""; ; {
			resp, err := x.Reservations.ListReservations(t.Context(), &settlementv1.ListReservationsRequest{
				TenantId: apptest.Tenant, PageSize: &size, PageToken: token,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range resp.GetReservations() {
				got = append(got, r.GetReservationId())
			}
			if token = resp.GetNextPageToken(); token == "" {
				break
			}
		}
		if want := slices.Sorted(slices.Values(ids)); !slices.Equal(got, want) {
			t.Errorf("pages of %d: %q", size, got)
		}
	}
	x.whole()
}

func TestCase49IdsAreComparedByteForByte(t *testing.T) {
	x := icuSite(t)
	for _, id := range ids {
		x.addAccount("account" + id)
	}
	for i, id := range ids {
		if granted := x.Granted(t, id, id, from("account"+id), credits(int64(i)), micros(0)); granted.GetReplayed() {
			t.Errorf("%q is taken for another", id)
		}
	}
	for i, id := range ids {
		if got := x.Get(t, id); got.GetCredit().GetTaken() != int64(i) || got.GetAccountId() != "account"+id {
			t.Errorf("%q is %v", id, got)
		}
		x.Settle(t, id, id, apptest.Failed(apptest.Money(0)))
	}
	x.whole()
}

// Batches of two servers lock many rows at once. Whoever sorted them in another order than the other would meet him in a deadlock.
func TestCase49LocksAreTakenInOneOrder(t *testing.T) {
	x := icuSite(t)
	y := x.replica()
	for _, id := range ids {
		x.addAccount("account" + id)
	}
	for round := range 10 {
		crowd(t, 2*len(ids), func(i int) error {
			server, id := []*site{x, y}[i%2], ids[(i/2+round)%len(ids)]
			for {
				resp, err := server.Reservations.Reserve(context.Background(),
					apptest.Reserve(fmt.Sprintf("%s.%d", id, round), "", from("account"+id), credits(1), micros(0)))
				switch {
				case status.Code(err) == codes.Unavailable:
					continue // a row stayed locked, which is no deadlock
				case err == nil && resp.GetGranted() == nil:
					return errors.New("denied")
				}
				return err
			}
		})
	}
	if n := x.number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	x.whole()
}
