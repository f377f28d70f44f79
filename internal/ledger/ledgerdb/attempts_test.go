package ledgerdb

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
	"github.com/settlementd/settlementd/migrations"
)

// upTo are the migrations up to a name.
func upTo(t *testing.T, last string) fs.FS {
	t.Helper()
	found := fstest.MapFS{}
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		if name <= last {
			found[name] = &fstest.MapFile{Data: data}
		}
	}
	return found
}

// The lines of a ledger that knew no attempts are numbered: the resolved ones by their permits, and then the one that is not resolved, so that
// the next is one more.
func TestTheAttemptsOfAnOlderLedgerAreNumbered(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	if _, err := postgres.Migrate(t.Context(), db.OwnerDSN(), "older", upTo(t, "0014_archive.sql")); err != nil {
		t.Fatal(err)
	}
	db.Exec(`INSERT INTO older.lines (tenant_id, request_key, reservation_id, provider_id, kind, stage, check_timeout_seconds, permitted_at, knowledge,
			permit_expires_at, cost_adjustment_micros, cost_micros, updated_at)
		SELECT 'acme', key, reservation, 'imagen', kind, stage, CASE WHEN kind = 'MODERATION' THEN 5 END, '2026-01-01Z'::timestamptz + n * interval '1 s', knowledge, now(), 0, 0, now()
		FROM (VALUES
			('a1', 'r1', 'GENERATION', NULL, 'NOT_ACCEPTED', 3), ('a2', 'r1', 'GENERATION', NULL, 'UNCERTAIN', 1), ('a3', 'r1', 'GENERATION', NULL, 'FAILED', 2),
			('c1', 'r1', 'MODERATION', 'INPUT', 'SUCCEEDED', 1), ('c2', 'r1', 'MODERATION', 'OUTPUT', 'PERMITTED', 2), ('b1', 'r2', 'GENERATION', NULL, 'SUCCEEDED', 1)
		) l (key, reservation, kind, stage, knowledge, n)`)
	if _, err := postgres.Migrate(t.Context(), db.OwnerDSN(), "older", migrations.FS); err != nil {
		t.Fatal(err)
	}
	got := postgrestest.Value[string](db, "SELECT string_agg(request_key || ' ' || attempt, ', ' ORDER BY request_key) FROM older.lines")
	if diff := cmp.Diff("a1 2, a2 3, a3 1, b1 1, c1 1, c2 1", got); diff != "" {
		t.Error(diff)
	}
}
