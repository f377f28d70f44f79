package statementdb

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// pageLines is how many lines a page of these tests has.
const pageLines = 500

var id = ID{Tenant: "acme", Provider: "studio", Statement: "may"}

// newGrown is a database in which a statement of so many lines was imported. Every tenth line is a finding.
func newGrown(t *testing.T, lines int) *postgrestest.DB {
	t.Helper()
	db := postgrestest.New(t)
	for _, sql := range []string{
		`INSERT INTO tenants VALUES ('acme', now())`,
		`INSERT INTO providers VALUES ('acme', 'studio', 'USD', 0, 0, 0, true, 30, 60, 0, false, false, NULL, 'NONE', '', 0, now())`,
		fmt.Sprintf(`INSERT INTO statements SELECT 'acme', 'studio', 'may', now(), now() + interval '1 day', now(), %d, %[1]d, %[1]d - f, 0, 0, 0, f, 0, 0, now(), NULL
			FROM (SELECT %[1]d / 10 AS f) x`, lines),
		fmt.Sprintf(`INSERT INTO statement_lines
			SELECT 'acme', 'studio', 'may', i, sha256(i::text::bytea), CASE WHEN i %% 10 = 0 THEN 'UNKNOWN_TO_US' ELSE 'MATCHED' END, 'k' || i, NULL,
				CASE WHEN i %% 10 <> 0 THEN 'r' || i END, 7, 'USD', 7, NULL, NULL FROM generate_series(1, %d) i`, lines),
		fmt.Sprintf(`INSERT INTO statement_absences SELECT 'acme', 'studio', 'may', 'z' || i, NULL, 'r' || i, NULL, 'x' FROM generate_series(1, %d) i`, lines/10),
		"ANALYZE",
	} {
		db.Exec(sql)
	}
	return db
}

// statement is SQL with arguments of a page.
type statement struct {
	name, sql string
	args      []any
}

func ofPage(lines int) (hot, lists []statement) {
	var numbers []int64
	var keys []string
	fresh := make([]Line, pageLines)
	for i := range pageLines {
		numbers, keys = append(numbers, int64(lines/2+i)), append(keys, fmt.Sprint("k", i*lines/pageLines))
		fresh[i] = Line{
			Number: int64(lines + 1 + i), Verdict: Matched, Key: ledger.RequestKey(fmt.Sprint("n", i)), Reservation: "r", Cost: &ledger.Money{Micros: 7, Currency: "USD"},
		}
	}
	a := arrays(fresh)
	return []statement{
			{"begin", insertStatement, id.args(nil, nil)}, {"checkpoint", selectCheckpoint, id.args()}, {"lock", lockCheckpoint, id.args()},
			{"taken", selectHashes, id.args(numbers)}, {"listed", selectListed, id.args(keys)},
			{"lines", insertLines, id.args(a...)}, {"move", moveCheckpoint, id.args(int64(lines+pageLines), 0, 0, 0, 0, 0, 0, 0)},
			{"forget", forgetAbsences, id.args("z77", "z770")}, {"absent", insertAbsences, id.args(a[3], a[4], a[5], a[8], a[10])},
		}, []statement{
			{"statement", selectStatement, id.args()}, {"findings", selectFindings, id.args(int64(0), "z5", pageLines)},
			{"later findings", selectFindings, id.args(int64(lines/2), "k", pageLines)},
		}
}

// buffersMax is how many buffers a statement may touch for each line of its page: a few levels of a few indexes, and the row.
const buffersMax = 40

func TestAPageCostsTheSameInALargeStatement(t *testing.T) {
	t.Parallel()
	measure := func(lines int) map[string]int {
		db := newGrown(t, lines)
		hot, lists := ofPage(lines)
		found := buffers(t, db.Ledger(), hot)
		for name, n := range buffers(t, db.Read(), lists) {
			found[name] = n
		}
		return found
	}
	small, large := measure(10_000), measure(100_000)
	for name, n := range large {
		t.Logf("%-15s %6d of 10,000 lines, %6d of 100,000", name, small[name], n)
		if n > small[name]*3/2+pageLines || n > buffersMax*pageLines {
			t.Errorf("%s: %d buffers on 100,000 lines, %d on 10,000", name, n, small[name])
		}
	}
}

// buffers explains statements and returns what each of them touches. None may read a table from its beginning to its end.
func buffers(t *testing.T, pool *pgxpool.Pool, statements []statement) map[string]int {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	found := map[string]int{}
	for _, s := range statements {
		var text string
		if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+s.sql, s.args...).Scan(&text); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		var plans []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
		}
		if err := json.Unmarshal([]byte(text), &plans); err != nil {
			t.Fatal(err)
		}
		found[s.name] = plans[0].Plan.Hit + plans[0].Plan.Read
		for _, table := range []string{"statement_lines", "statement_absences"} {
			if strings.Contains(text, `"Seq Scan"`) && strings.Contains(text, `"Relation Name": "`+table+`"`) {
				t.Errorf("%s reads all of %s:\n%s", s.name, table, text)
			}
		}
	}
	return found
}
