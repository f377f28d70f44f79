package ledgerdb

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

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

// Whoever migrates owns the tables and needs no more than that: the service's role is there already.
func TestAnOwnerWithoutPrivilegesCanMigrate(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	owner := "owner_of_" + db.Name
	db.Exec("CREATE ROLE " + owner + " LOGIN")
	db.Exec("CREATE SCHEMA private AUTHORIZATION " + owner)
	config, err := pgx.ParseConfig(db.OwnerDSN())
	if err != nil {
		t.Fatal(err)
	}
	dsn := fmt.Sprintf("host=%s port=%d dbname=%s user=%s", config.Host, config.Port, config.Database, owner)
	if _, err := postgres.Migrate(t.Context(), dsn, "private", migrations.FS); err != nil {
		t.Fatal(err)
	}
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: db.ServiceDSN(), Kind: postgres.Ledger, Schema: "private", MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	w := &world{t: t, db: db, store: New(pool), answers: map[ledger.ReservationID]ledger.View{}}
	if _, err := NewReader(pool).CreateTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	w.addProvider(provider)
	w.addAccount(account)
	w.play()
	if found, err := Verify(t.Context(), pool, tenant); err != nil || len(found) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// Databases of one server share its roles, and may be migrated at the same moment.
func TestDatabasesThatMigrateAtOnceMakeOneRole(t *testing.T) {
	t.Parallel()
	file, err := migrations.FS.ReadFile("0001_role.sql")
	if err != nil {
		t.Fatal(err)
	}
	role := "role_of_a_race"
	files := fstest.MapFS{"0001_role.sql": {Data: []byte(strings.ReplaceAll(string(file), postgrestest.Service, role))}}
	var migrating sync.WaitGroup
	for range 4 {
		db := postgrestest.New(t)
		migrating.Go(func() {
			if _, err := postgres.Migrate(t.Context(), db.OwnerDSN(), "fresh", files); err != nil {
				t.Error(err)
			}
		})
	}
	migrating.Wait()
}

// The one function that runs as the owner reads our tables, whatever a session calls its own.
func TestNobodySlipsATableUnderTheOwner(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	conn := connection(t, w.db.Read())
	if _, err := conn.Exec(t.Context(), `CREATE TEMP TABLE reservations AS SELECT 'slipped' AS tenant_id, now() AS due_at, '' AS reservation_id`); err != nil {
		t.Fatal(err)
	}
	w.turnClock(time.Hour)
	var found string
	if err := conn.QueryRow(t.Context(), "SELECT overdue_tenants(9)").Scan(&found); err != nil || found != string(tenant) {
		t.Errorf("%q, %v", found, err)
	}
}
