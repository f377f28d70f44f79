package ledgerdb

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// table maps the rows of a table to values of R. The columns are declared once; the statements that write them are made from that.
type table[R any] struct {
	name      string
	key       []column[R] // within a tenant
	fixed     []column[R] // written once
	mutable   []column[R]
	condition string // what an update asks of the row t besides its key; u.previous is then an array that comes last
	conflict  string // what an insert does about a key that stands already, where that is no lost race

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

// located is what a statement selects of rows that are going to be updated: columns, and where each row is.
func (t *table[R]) located(alias string) string {
	return t.columns(alias) + ", " + alias + ".place"
}

// collect reads the rows of a statement that selects columns.
func (t *table[R]) collect(rows pgx.Rows) ([]R, error) {
	found, _, err := t.scan(rows, false)
	return found, err
}

// collectLocated reads the rows of a statement that selects located, and their places by key.
func (t *table[R]) collectLocated(rows pgx.Rows, to map[string]pgtype.TID) ([]R, error) {
	found, places, err := t.scan(rows, true)
	for i := range places {
		to[t.keyOf(&found[i])] = places[i]
	}
	return found, err
}

func (t *table[R]) scan(rows pgx.Rows, located bool) (found []R, places []pgtype.TID, err error) {
	defer rows.Close()
	var dests []any
	for rows.Next() {
		var r R
		var place pgtype.TID
		dests = t.dests(dests[:0], &r)
		if located {
			dests = append(dests, &place)
		}
		if err := rows.Scan(dests...); err != nil {
			return nil, nil, fmt.Errorf("ledgerdb: scan %s: %w", t.name, err)
		}
		found = append(found, r)
		if located {
			places = append(places, place)
		}
	}
	return found, places, rows.Err()
}

// keyOf is the key of a row as one text, of which no part contains the space between them.
func (t *table[R]) keyOf(r *R) string {
	if len(t.key) == 1 {
		return t.key[0].text(r)
	}
	parts := make([]string, len(t.key))
	for i, c := range t.key {
		parts[i] = c.text(r)
	}
	return strings.Join(parts, " ")
}

// insertSQL takes the tenant as $1 and the number of rows as $2. It inserts every row, in their order, or fails.
func (t *table[R]) insertSQL() string {
	var names, values []string
	for _, c := range t.all {
		names = append(names, c.name)
		values = append(values, c.value())
	}
	return fmt.Sprintf("INSERT INTO %s (tenant_id, %s) SELECT u.tenant_id, %s FROM %s %s",
		t.name, strings.Join(names, ", "), strings.Join(values, ", "), rowsOfArrays(t.all), t.conflict)
}

// proven takes the number of rows as $2: an update proves that it found as many, because COMMIT travels behind it.
const proven = "WITH written AS (%s RETURNING 1) SELECT settlement_expect((SELECT count(*) FROM written), $2::integer, '%s')"

// updateSQL finds each row at the place where it was read. It is locked, or the reservation that it belongs to is, so it is still there; the
// key is asked for all the same. The tenant is a column of u: compared with $1, it would let a planner that believes the table empty read all
// of the tenant's rows.
func (t *table[R]) updateSQL() string {
	var sets []string
	conditions := []string{"t.ctid = u.place", "t.tenant_id = u.tenant_id"}
	for _, c := range t.mutable {
		sets = append(sets, c.name+" = "+c.value())
	}
	for _, c := range t.key {
		conditions = append(conditions, "t."+c.name+" = u."+c.name)
	}
	written := slices.Concat([]column[R]{{name: "place", kind: "tid"}}, t.key, t.mutable)
	if t.condition != "" {
		written = append(written, column[R]{name: "previous", kind: "bigint"})
		conditions = append(conditions, t.condition)
	}
	update := fmt.Sprintf("UPDATE %s t SET %s FROM %s WHERE %s",
		t.name, strings.Join(sets, ", "), rowsOfArrays(written), strings.Join(conditions, " AND "))
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

// rowsOfArrays are the rows u of a statement's arrays, one for each column. The arrays are unnested in the select list, a row at a time: in
// FROM every array would be laid out in a store of its own first, which costs as much as dozens of rows.
func rowsOfArrays[R any](columns []column[R]) string {
	values := []string{"$1::text AS tenant_id"}
	for i, c := range columns {
		values = append(values, fmt.Sprintf("unnest($%d::%s[]) AS %s", firstArray+i, c.kind, c.name))
	}
	return fmt.Sprintf("(SELECT %s, generate_series(1, $2::integer)) u", strings.Join(values, ", "))
}

// queueInsert adds the statement that inserts the rows, if there are any.
func (t *table[R]) queueInsert(b *pgx.Batch, tenant string, rows []R) {
	if len(rows) > 0 {
		b.Queue(t.insert, appendArrays([]any{tenant, int64(len(rows))}, rows, t.all)...)
	}
}

// queueUpdate adds the statement that updates the rows where they were read, if there are any. The extra arguments are those of the table's
// condition.
func (t *table[R]) queueUpdate(b *pgx.Batch, tenant string, places map[string]pgtype.TID, rows []R, extra ...any) {
	if len(rows) > 0 {
		args := []any{tenant, int64(len(rows)), array(rows, func(r *R) pgtype.TID { return places[t.keyOf(r)] })}
		args = appendArrays(args, rows, t.key, t.mutable)
		b.Queue(t.update, append(args, extra...)...)
	}
}

func appendArrays[R any](args []any, rows []R, columns ...[]column[R]) []any {
	for _, some := range columns {
		for _, c := range some {
			args = append(args, c.values(rows))
		}
	}
	return args
}
