package servicetest

import (
	"slices"
	"testing"

	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/oracle"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
	"github.com/settlementd/settlementd/internal/retention"
)

// TestEveryCellAfterArchiving plays every call in every situation that has ended, after everything that is over went into the archive. Nobody
// who calls can tell: the answers and what moves are those of the table.
func TestEveryCellAfterArchiving(t *testing.T) {
	t.Parallel()
	table, err := oracle.Read()
	if err != nil {
		t.Fatal(err)
	}
	open := []string{"", "PENDING", "PROCESSING", "UNCERTAIN"}
	cells := slices.DeleteFunc(slices.Clone(table.Cells), func(c oracle.Cell) bool {
		return c.Call.RPC == "Sweep" || slices.Contains(open, c.Situation.Stands[oracle.State])
	})
	for _, swept := range []string{"no sweep", "after a sweep"} {
		t.Run(swept, func(t *testing.T) {
			t.Parallel()
			g := newStage(t, table, slices.DeleteFunc(slices.Clone(cells), func(c oracle.Cell) bool { return group(c) != swept }), func(*app.Config) {})
			g.rehearse()
			g.archive()
			g.perform()
			g.s.Verify(t)
		})
	}
}

// archive moves all that is over out of the calls' way, a moment after the last of it was settled.
func (g *stage) archive() {
	g.t.Helper()
	g.turn(curtain + 1)
	once := retention.Once{Tenant: apptest.Tenant, Chunk: 100}
	done, err := once.Run(g.t.Context(), ledgerdb.New(g.s.DB.Ledger()), func(retention.Count) {})
	if err != nil {
		g.t.Fatal(err)
	}
	g.turn(curtain)
	g.s.DB.Exec("ANALYZE") // or looking at all actors at once would take long
	const left = `SELECT count(*) FROM reservations r WHERE outcome_kind IS NOT NULL AND budget_state = 'ENDED'
		AND NOT EXISTS (SELECT FROM lines l WHERE l.tenant_id = r.tenant_id AND l.reservation_id = r.reservation_id AND l.unresolved)`
	if n := postgrestest.Value[int](g.s.DB, left); n > 0 || done.Archived < len(g.actors)/10 {
		g.t.Fatalf("%d of %d are archived, %d were left", done.Archived, len(g.actors), n)
	}
	g.t.Logf("%d of %d are archived", done.Archived, len(g.actors))
}
