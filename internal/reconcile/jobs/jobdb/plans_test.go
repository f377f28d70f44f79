package jobdb

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// chunkStatements are those of a chunk of ten in the middle of a job of 10,000, with the buffers that each may read.
var chunkStatements = []struct {
	name, sql, args string
	most            int
}{
	{"lock", lockJob, "'acme', 'j3'", 20},
	{"compare", compareJob, "'acme', 'j3'", 400},
	{"next", nextTargets, "'acme', 'j3'", 40},
	{"audit", insertAudit, `'acme', 'j3', 5000, '{r005000,r005001,r005002,r005003,r005004,r005005,r005006,r005007,r005008,r005009}',
		array_fill(0, '{10}'), array_fill(1, '{10}'), array_fill('CREDITS'::text, '{10}'), array_fill(1::bigint, '{10}')`, 200},
	{"move on", moveOn, "'acme', 'j3', 5010, 5000", 80},
}

// The statements of a chunk look at what is theirs and no more, also with plans that were made while the tables were empty: the comparison
// reads the pages of its job's targets and audit, every other one some pages for each row of the chunk.
func TestStatementsOfAChunkReadWhatTheyNeed(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	db.Exec(`ALTER TABLE jobs SET (autovacuum_enabled = off); ALTER TABLE job_targets SET (autovacuum_enabled = off);
		ALTER TABLE job_audit SET (autovacuum_enabled = off); INSERT INTO tenants VALUES ('acme', now())`)
	conn, err := db.Ledger().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, s := range chunkStatements {
		if _, err := conn.Conn().Prepare(t.Context(), s.name, s.sql); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		_, _ = buffers(t, conn, s.name, s.args) // makes the plan, and finds no job
	}
	for j := range 6 {
		db.Exec(`INSERT INTO jobs VALUES ('acme', 'j' || $1::int, 'CANCEL', 10, 10000, repeat('0', 64), 'ann', now(), 'bob', now(), 5000, now())`, j)
		db.Exec(`INSERT INTO job_targets SELECT 'acme', 'j' || $1::int, i, 'r' || lpad(i::text, 6, '0'), 0, 'CREDITS', 1 FROM generate_series(0, 9999) i`, j)
		db.Exec(`INSERT INTO job_audit SELECT 'acme', 'j' || $1::int, i, 'r' || lpad(i::text, 6, '0'), 0, 1, 'CREDITS', 1, now() FROM generate_series(0, 4999) i`, j)
	}
	for _, s := range chunkStatements {
		if n, err := buffers(t, conn, s.name, s.args); err != nil || n > s.most {
			t.Errorf("%s: %d buffers, at most %d: %v", s.name, n, s.most, err)
		}
	}
}

// buffers runs a prepared statement, takes its effect back, and counts what it read.
func buffers(t *testing.T, conn *pgxpool.Conn, name, args string) (int, error) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	var text []byte
	if err := tx.QueryRow(t.Context(), fmt.Sprintf(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE "%s" (%s)`, name, args)).Scan(&text); err != nil {
		return 0, err
	}
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(text, &plans); err != nil {
		return 0, err
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read, nil
}
