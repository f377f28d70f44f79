package ledgerdb

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// table maps the rows of a table to values of R. The columns are declared once; the statements that write them are made from that.
type table[R any] struct {
	name      string
	key       []column[R] // within a tenant
	fixed     []column[R] // written once
	mutable   []column[R]
	condition string // what an update asks of the row r besides its key; u.previous is then an array that comes last
	conflict  string // what an insert does about a key that stands already, where that is no lost race
	ordered   bool   // rows are inserted in their order, because the database numbers them

	all    []column[R]
	insert string
	update string
}

// declare makes the statements of a table.
func declare[R any](t table[R]) *table[R] {
	t.all = slices.Concat(t.key, t.fixed, t.mutable)
	t.insert = t.insertSQL()
	if len(t.mutable) > 0 {
		t.update = t.updateSQL()
	}
	return &t
}

// columns lists the columns in the order in which scan takes them.
func (t *table[R]) columns(alias string) string {
	names := make([]string, len(t.all))
	for i, c := range t.all {
		names[i] = alias + "." + c.name
	}
	return strings.Join(names, ", ")
}

// dests appends where a row's columns are scanned to.
func (t *table[R]) dests(to []any, r *R) []any {
	for _, c := range t.all {
		to = append(to, c.dest(r))
	}
	return to
}

// collect reads the rows of a statement that selects columns.
func (t *table[R]) collect(rows pgx.Rows) ([]R, error) {
	defer rows.Close()
	var found []R
	var dests []any
	for rows.Next() {
		var r R
		dests = t.dests(dests[:0], &r)
		if err := rows.Scan(dests...); err != nil {
			return nil, fmt.Errorf("ledgerdb: scan %s: %w", t.name, err)
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// Both statements take the tenant as $1 and the number of rows as $2, and prove that they wrote as many: COMMIT travels behind them.
const proven = "WITH written AS (%s RETURNING 1) SELECT settlement_expect((SELECT count(*) FROM written), $2::integer, '%s')"

func (t *table[R]) insertSQL() string {
	var names, values []string
	for _, c := range t.all {
		names = append(names, c.name)
		values = append(values, c.value())
	}
	order := ""
	if t.ordered {
		order = "ORDER BY ordinal "
	}
	insert := fmt.Sprintf("INSERT INTO %s (tenant_id, %s) SELECT $1, %s FROM %s %s%s",
		t.name, strings.Join(names, ", "), strings.Join(values, ", "), rowsOfArrays(t.all), order, t.conflict)
	return fmt.Sprintf(proven, insert, "insert into "+t.name)
}

func (t *table[R]) updateSQL() string {
	var sets, keys []string
	for _, c := range t.mutable {
		sets = append(sets, c.name+" = "+c.value())
	}
	for _, c := range t.key {
		keys = append(keys, "r."+c.name+" = u."+c.name)
	}
	written := slices.Concat(t.key, t.mutable)
	if t.condition != "" {
		written = append(written, column[R]{name: "previous", kind: "bigint"})
		keys = append(keys, t.condition)
	}
	// As in each: one look-up a row, by its key. The row is locked, so it is still in its place when it is written.
	update := fmt.Sprintf("UPDATE %s t SET %s FROM %s CROSS JOIN LATERAL "+
		"(SELECT r.ctid AS place FROM %s r WHERE r.tenant_id = $1 AND %s OFFSET 0) k WHERE t.tenant_id = $1 AND t.ctid = k.place",
		t.name, strings.Join(sets, ", "), rowsOfArrays(written), t.name, strings.Join(keys, " AND "))
	return fmt.Sprintf(proven, update, "update of "+t.name)
}

// value is the column's value in a statement over arrays.
func (c *column[R]) value() string {
	if c.cast != "" {
		return "u." + c.name + "::" + c.cast
	}
	return "u." + c.name
}

// firstArray is the number of the argument that is the first column's array.
const firstArray = 3

// rowsOfArrays are the rows u of a statement's arrays, one for each column. Each value is picked by its place: unnest would set up a store
// for every array, which costs as much as dozens of rows. Finding a place among texts takes as long as it is far, so this is for hundreds;
// of ten thousand rows it would take longer than a statement may.
func rowsOfArrays[R any](columns []column[R]) string {
	var values []string
	for i, c := range columns {
		values = append(values, fmt.Sprintf("($%d::%s[])[ordinal] AS %s", firstArray+i, c.kind, c.name))
	}
	return fmt.Sprintf("(SELECT %s, ordinal FROM generate_series(1, $2::integer) ordinal) u", strings.Join(values, ", "))
}

// queueInsert adds the statement that inserts the rows, if there are any.
func (t *table[R]) queueInsert(b *pgx.Batch, tenant string, rows []R) {
	if len(rows) > 0 {
		b.Queue(t.insert, arguments(tenant, rows, t.all)...)
	}
}

// queueUpdate adds the statement that updates the rows, if there are any. The extra arguments are those of the table's condition.
func (t *table[R]) queueUpdate(b *pgx.Batch, tenant string, rows []R, extra ...any) {
	if len(rows) > 0 {
		args := arguments(tenant, rows, t.key, t.mutable)
		b.Queue(t.update, append(args, extra...)...)
	}
}

func arguments[R any](tenant string, rows []R, columns ...[]column[R]) []any {
	args := []any{tenant, int64(len(rows))}
	for _, some := range columns {
		for _, c := range some {
			args = append(args, c.values(rows))
		}
	}
	return args
}
