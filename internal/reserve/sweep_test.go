package reserve_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
	"github.com/settlementd/settlementd/internal/reserve"
)

// seed makes a tenant with a reservation that is due in a minute.
func seed(t *testing.T, db *postgrestest.DB, lanes *lane.Lanes, tenant ledger.TenantID) {
	t.Helper()
	db.Exec("INSERT INTO tenants VALUES ($1, now())", tenant)
	db.Exec(`INSERT INTO providers VALUES ($1, 'studio', 'USD', 0, 0, 0, true, 30, 60, 0, false, false, NULL, 'NONE', '', 1000, now())`, tenant)
	db.Exec(`INSERT INTO accounts VALUES ($1, 'alice', 10, 0, 0, 0, 10, 0, false, now())`, tenant)
	in := ledger.Reserve{ID: "r", TTLSeconds: 60, MaxAgeSeconds: 60, Asked: ledger.Asked{
		Account: "alice", Provider: "studio", Funding: ledger.Funding{Kind: ledger.FundCredits, Credits: 1}, Currency: "USD",
	}}
	answer, err := lane.Do(t.Context(), lanes, tenant, in.Keys(), func(b *ledger.Book) (ledger.ReserveAnswer, error) { return b.Reserve(in) })
	if err != nil || len(answer.Denied) > 0 {
		t.Fatalf("%v %v", answer.Denied, err)
	}
}

func TestATenantThatIsHeldUpKeepsNoOtherFromItsSweep(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	lanes := lane.New(ledgerdb.New(db.Ledger()), lane.Config{BatchMax: 8, QueueMax: 100, TurnsMax: 2, Log: slog.New(slog.DiscardHandler)})
	defer lanes.Close(context.Background())
	seed(t, db, lanes, "first") // and so the first to be swept
	seed(t, db, lanes, "second")
	db.Exec(`CREATE OR REPLACE FUNCTION settlement_now() RETURNS timestamptz LANGUAGE sql VOLATILE RETURN clock_timestamp() + interval '1 hour'`)

	entered, opened, held := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	open := sync.OnceFunc(func() { close(opened) })
	defer open()
	go func() { // a call in the first tenant's lane that does not end
		_, err := lane.Do(context.Background(), lanes, "first", ledger.Keys{}, func(*ledger.Book) (struct{}, error) {
			close(entered)
			<-opened
			return struct{}{}, nil
		})
		held <- err
	}()
	<-entered
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		server := reserve.New(lanes, ledgerdb.NewReader(db.Read()), reserve.Config{})
		server.Sweep(ctx, 10*time.Millisecond, slog.New(slog.DiscardHandler))
	}()
	expired := func(tenant string) func() bool {
		return func() bool {
			return postgrestest.Value[string](db, "SELECT state FROM reservations WHERE tenant_id = $1", tenant) == "EXPIRED"
		}
	}
	postgrestest.Until(t, "the second tenant is swept", expired("second"))
	open()
	if err := <-held; err != nil {
		t.Error(err)
	}
	postgrestest.Until(t, "the first tenant is swept", expired("first"))
	stop()
	<-swept
}
