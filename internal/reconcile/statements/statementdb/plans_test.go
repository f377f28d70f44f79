package statementdb

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
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
	run(db, append(seed, grown(0, lines)...))
	db.Exec("ANALYZE")
	return db
}

func run(db *postgrestest.DB, statements []string) {
	for _, sql := range statements {
		db.Exec(sql)
	}
}

var seed = []string{
	`INSERT INTO tenants VALUES ('acme', now())`,
	`INSERT INTO providers VALUES ('acme', 'studio', 'USD', 0, 0, 0, true, 30, 60, 0, false, false, NULL, 'NONE', '', 0, now())`,
	`INSERT INTO statements VALUES ('acme', 'studio', 'may', now(), now() + interval '1 day', now(), 0, 0, 0, 0, 0, 0, 0, 0, 0, now(), NULL)`,
}

// grown are the statements that make it grow to so many lines.
func grown(from, lines int) []string {
	return []string{
		fmt.Sprintf("UPDATE statements SET lines_through = %d, lines = %[1]d, matched = %[1]d - %[1]d / 10, unknown_to_us = %[1]d / 10", lines),
		fmt.Sprintf(`INSERT INTO statement_lines
			SELECT 'acme', 'studio', 'may', i, sha256(i::text::bytea), CASE WHEN i %% 10 = 0 THEN 'UNKNOWN_TO_US' ELSE 'MATCHED' END, 'k' || i, NULL,
				CASE WHEN i %% 10 <> 0 THEN 'r' || i END, 7, 'USD', 7, NULL, NULL FROM generate_series(%d, %d) i`, from+1, lines),
		fmt.Sprintf(`INSERT INTO statement_absences SELECT 'acme', 'studio', 'may', 'z' || i, NULL, 'r' || i, NULL, 'x' FROM generate_series(%d, %d) i`, from/10+1, lines/10),
	}
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
		found := map[string]int{}
		for pool, statements := range map[*pgxpool.Pool][]statement{db.Ledger(): hot, db.Read(): lists} {
			conn, err := pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(found, buffers(t, conn.Conn(), statements))
			conn.Release()
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

// A plan that was made for an empty or a small table is kept while the table grows.
func TestPlansHoldWhileAStatementGrows(t *testing.T) {
	t.Parallel()
	for name, analysed := range map[string]bool{"never analysed": false, "analysed when empty": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.New(t)
			run(db, seed)
			if analysed {
				db.Exec("ANALYZE")
			}
			conn, err := db.Ledger().Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(conn.Release)
			const large = 20_000
			hot, _ := ofPage(large)
			before := 0
			for _, lines := range []int{0, 2 * pageLines, large} {
				run(db, grown(before, lines))
				before = lines
				for name, n := range buffers(t, conn.Conn(), hot) {
					if n > buffersMax*pageLines {
						t.Errorf("%s: %d buffers when there are %d lines", name, n, lines)
					}
				}
			}
		})
	}
}

// buffers explains prepared statements and returns what each of them touches. None may read a table from its beginning to its end.
func buffers(t *testing.T, conn *pgx.Conn, statements []statement) map[string]int {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	found := map[string]int{}
	for _, s := range statements {
		var text string
		if err := tx.QueryRow(t.Context(), explained(t, conn, s), pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
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
		for _, removed := range filtered.FindAllStringSubmatch(text, -1) {
			if n, _ := strconv.Atoi(removed[1]); n > pageLines {
				t.Errorf("%s reads %d rows for nothing:\n%s", s.name, n, text)
			}
		}
		for _, table := range []string{"statement_lines", "statement_absences"} {
			if strings.Contains(text, `"Seq Scan"`) && strings.Contains(text, `"Relation Name": "`+table+`"`) {
				t.Errorf("%s reads all of %s:\n%s", s.name, table, text)
			}
		}
	}
	return found
}

var filtered = regexp.MustCompile(`"Rows Removed by (?:Filter|Join Filter)": (\d+)`)

// explained is the statement that explains a prepared one with its arguments written out.
func explained(t *testing.T, conn *pgx.Conn, s statement) string {
	t.Helper()
	prepared, err := conn.Prepare(t.Context(), s.sql, s.sql)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	literals := make([]string, len(s.args))
	for i, arg := range s.args {
		text, err := conn.TypeMap().Encode(prepared.ParamOIDs[i], pgtype.TextFormatCode, arg, nil)
		switch {
		case err != nil:
			t.Fatalf("%s: %v", s.name, err)
		case text == nil:
			literals[i] = "NULL"
		default:
			literals[i] = "'" + strings.ReplaceAll(string(text), "'", "''") + "'"
		}
	}
	return fmt.Sprintf("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE %s (%s)", pgx.Identifier{prepared.Name}.Sanitize(), strings.Join(literals, ", "))
}
