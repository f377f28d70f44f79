package ledgerdb

import (
	"fmt"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// grow fills the world's tenant with n reservations, each with a line and two entries, ten of them on an account; every tenth is open, and
// as many are archived.
// Other tenants have as many together. The rows are made behind the rules' back: they need only be as many and as wide as true ones.
func (w *world) grow(from, to int) {
	w.t.Helper()
	w.unguarded(fmt.Sprintf(`
	CREATE OR REPLACE VIEW grown AS
		SELECT i, CASE WHEN i %% 2 = 0 THEN 'acme' ELSE 'tenant' || i %% 20 END AS tenant_id, i / 2 %% 10 = 0 AS open, i / 2 %% 10 = 1 AS archived,
			'a' || i / 20 AS account_id, 'p' || i / 2 %% 10 AS provider_id, '2026-01-01Z'::timestamptz + i * interval '1 second' AS at
		FROM generate_series(%[1]d, %[2]d) i;
	INSERT INTO tenants SELECT DISTINCT tenant_id, min(at) FROM grown GROUP BY 1 ON CONFLICT DO NOTHING;
	INSERT INTO accounts SELECT tenant_id, account_id, 1000, 100, 0, 0, 10, 1, false, min(at) FROM grown GROUP BY 1, 2 ON CONFLICT DO NOTHING;
	INSERT INTO providers SELECT tenant_id, provider_id, 'USD', 0, 1000000, 100, true, 30, 600, 0, false, false, NULL, 'DAY', 'UTC', 1000000, min(at)
		FROM grown GROUP BY 1, 2 ON CONFLICT DO NOTHING;
	INSERT INTO budgets SELECT tenant_id, provider_id, settlement_period_start('DAY', 'UTC', at), 1000000, 500000, 100
		FROM grown GROUP BY 1, 2, 3 ON CONFLICT DO NOTHING;
	INSERT INTO budgets SELECT tenant_id, provider_id, settlement_period_start('DAY', 'UTC', now()), 1000000, 500000, 100
		FROM grown GROUP BY 1, 2 ON CONFLICT DO NOTHING;
	INSERT INTO reservations %[3]s WHERE NOT archived;
	INSERT INTO archived_reservations %[3]s WHERE archived;
	INSERT INTO lines SELECT tenant_id, 'k' || i, 'r' || i, provider_id, 'GENERATION', NULL, 'token' || i, at, NULL, NULL,
			CASE WHEN open THEN 'PERMITTED' ELSE 'SUCCEEDED' END, at + interval '30 seconds', NULL, CASE WHEN NOT open THEN 't' || i END,
			CASE WHEN NOT open THEN 37 END, 0, NULL, NULL, at
		FROM grown;
	INSERT INTO entries (tenant_id, event_key, event_type, account_id, reservation_id, revision, unit, available_before, available_after,
			held_before, held_after, budget_held_change, budget_spent_change, detail, created_at)
		SELECT tenant_id, key, type, account_id, 'r' || i, 0, 'CREDITS', 10, 0, 0, 10, 200, 0, NULL, at
		FROM grown, LATERAL (VALUES ('reserve r' || i, 'RESERVED'), ('end r' || i, 'COMPLETED')) e (key, type);
	INSERT INTO exceptions SELECT tenant_id, 'x' || i, 'r' || i, 'k' || i, 'SUPERSEDED', 'COMPLETED', NULL, NULL, 'POLL', 1, at, at
		FROM grown WHERE i %% 20 = 0`, from, to-1, grownReservations))
}

const grownReservations = `SELECT tenant_id, 'r' || i, account_id, provider_id, 'CREDITS', 10, 200, 'USD', NULL, 'k' || i, NULL, 'CREDITS', 10,
			settlement_period_start('DAY', 'UTC', at), 30, 600, 0, 7200, false, false, NULL, at,
			CASE WHEN open THEN 'PROCESSING' ELSE 'COMPLETED' END, 1, at + interval '15 minutes', at + interval '2 hours', NULL, NULL, NULL,
			CASE WHEN open THEN 'HELD' ELSE 'CAPTURED' END, CASE WHEN open THEN 0 ELSE 10 END, CASE WHEN open THEN 'HELD' ELSE 'RELEASED' END,
			CASE WHEN open THEN 'HELD' ELSE 'ENDED' END, CASE WHEN NOT open THEN 'COMPLETED' END, NULL, NULL, NULL, NULL, NULL,
			CASE WHEN NOT open THEN 'CALLBACK' END, NULL, CASE WHEN NOT open THEN at END, at
		FROM grown`

// spread names n even numbers below to, far from each other, in the same rows of the small tables however large to is.
func spread(n, to int) []int {
	step := to / n / 20 * 20
	if step > 0 {
		step -= 18 // so that one is of the provider after the one before
	} else {
		step = 2
	}
	found := make([]int, n)
	for i := range found {
		found[i] = i * step
	}
	return found
}

// grownKeys names what n calls on grown rows would: existing and new ones.
func grownKeys(n, to int) ledger.Keys {
	var k ledger.Keys
	for _, i := range spread(n, to) {
		k.Add(ledger.Keys{
			Reservations: []ledger.ReservationID{ledger.ReservationID(fmt.Sprint("r", i))},
			Accounts:     []ledger.AccountID{ledger.AccountID(fmt.Sprint("a", i/20))},
			Providers:    []ledger.ProviderID{ledger.ProviderID(fmt.Sprint("p", i/2%10))},
			RequestKeys:  []ledger.RequestKey{ledger.RequestKey(fmt.Sprint("k", i)), ledger.RequestKey(fmt.Sprint("new", i))},
			Tasks:        []ledger.TaskID{ledger.TaskID(fmt.Sprint("t", i))},
			EventKeys:    []string{fmt.Sprint("end r", i)},
			Exceptions:   []ledger.ExceptionID{ledger.ExceptionID(fmt.Sprint("x", i))},
		})
	}
	return k
}

func newGrownWorld(t *testing.T, n int) *world {
	t.Helper()
	w := &world{t: t, db: postgrestest.New(t)}
	w.store = New(w.db.Ledger())
	w.grow(0, n)
	return w
}
