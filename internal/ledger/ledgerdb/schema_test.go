package ledgerdb

import (
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
	"github.com/settlementd/settlementd/migrations"
)

// Two ledgers in one database see nothing of each other: every statement, trigger and function follows the search_path.
func TestTwoSchemasInOneDatabaseStayApart(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	worlds := map[string]*world{}
	for _, schema := range []string{"blue", "Grün"} {
		if _, err := postgres.Migrate(t.Context(), db.OwnerDSN(), schema, migrations.FS); err != nil {
			t.Fatal(err)
		}
		config := postgres.Config{DSN: db.ServiceDSN(), Kind: postgres.Ledger, Schema: schema, MaxConns: 2}
		pool, err := postgres.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		w := &world{t: t, db: db, store: New(pool), answers: map[ledger.ReservationID]ledger.View{}}
		if _, err := NewReader(pool).CreateTenant(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
		w.addProvider(provider)
		w.addAccount(account)
		worlds[schema] = w
	}
	blue, green := worlds["blue"], worlds["Grün"]
	blue.play()
	blue.unguarded("UPDATE blue.reservations SET deadline = created_at WHERE reservation_id = 'r4'")
	for w, want := range map[*world]int{blue: 1, green: 0} {
		r := NewReader(w.store.pool)
		due, err := r.OverdueTenants(t.Context(), 5)
		if err != nil || len(due) != want {
			t.Errorf("overdue: %v, %v", due, err)
		}
		if _, err := r.Reservation(t.Context(), tenant, "r4"); notFound(err) != (want == 0) {
			t.Errorf("r4: %v", err)
		}
		if found, err := Verify(t.Context(), w.store.pool, tenant); err != nil || len(found) > 0 {
			t.Errorf("%+v, %v", found, err)
		}
	}
	if n := postgrestest.Value[int](db, "SELECT count(*) FROM public.tenants"); n != 0 {
		t.Errorf("%d tenants in the schema that nobody used", n)
	}
}
