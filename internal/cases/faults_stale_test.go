package cases_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// Connections that a server made while its database was a standby stay read-only, as after a failover. No call fails for that, and none is
// denied.
func TestStaleConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	alter := "ALTER ROLE settlementd_service IN DATABASE " + x.DB.Name
	x.DB.Exec(alter + " SET default_transaction_read_only = on")
	y := x.replica(func(c *app.Config) { c.PoolSize = 2 })
	_, err := y.Reservations.Reserve(t.Context(), apptest.Reserve("r1", "k1"))
	wantCode(t, "while the database is read-only", err, codes.Unavailable)
	x.DB.Exec(alter + " RESET default_transaction_read_only")
	if granted := y.Granted(t, "r1", "k1"); granted.GetReplayed() {
		t.Error("it was remembered")
	}
	for _, id := range []string{"r2", "r3", "r4"} {
		y.Granted(t, id, "k"+id)
	}
	y.Settle(t, "r1", "k1", apptest.Failed(nil))
	x.whole()
}

// Sessions that an administrator ended, all at once, between two calls. A call of the ledger does not notice; a read may have to come again.
func TestEndedConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	x.Granted(t, "r1", "k1")
	x.DB.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'settlementd_service'`)
	x.Granted(t, "r2", "k2")
	postgrestest.Until(t, "a read gets through", func() bool {
		_, err := x.Reservations.GetReservation(t.Context(), &settlementv1.GetReservationRequest{TenantId: apptest.Tenant, ReservationId: "r1"})
		if err != nil {
			wantCode(t, "a read", err, codes.Unavailable)
		}
		return err == nil
	})
	x.Settle(t, "r1", "k1", apptest.Failed(nil))
	x.whole()
}
