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
	condition string   // what an update asks of the row t besides its key; u.previous is then an array that comes last
	conflict  string   // what an insert does about a key that stands already, where that is no lost race
	counters  []string // mutable columns that unlocked rows are moved by
	room      string   // what moving them asks of the row t, where u is by how much

	all               []column[R]
	insert, insertOne string
	update, updateOne string
	move, moveOne     string
}

// declare makes the statements of a table, each in two forms: for many rows, and for one, which PostgreSQL is sooner ready to run.
func declare[R any](t table[R]) *table[R] {
	t.all = slices.Concat(t.key, t.fixed, t.mutable)
	t.insert, t.insertOne = t.insertSQL(manyRows), t.insertSQL(oneRow)
	if len(t.mutable) > 0 {
		t.update, t.updateOne = t.updateSQL(manyRows), t.updateSQL(oneRow)
	}
	if len(t.counters) > 0 {
		t.move, t.moveOne = t.moveSQL(manyRows), t.moveSQL(oneRow)
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

// form is how a statement that writes is given its rows. The tenant is always $1.
type form struct {
	count string // how many rows there are
	first int    // the number of the first column's argument
	value string // a column of a row, from the number of its argument, its type and its name
	rest  string // of the rows
}

var (
	// manyRows are arrays, and their length is $2. They are unnested in the select list, a row at a time: in FROM every array would be laid out
	// in a store of its own first, which costs as much as dozens of rows.
	manyRows = form{"$2::integer", 3, "unnest($%d::%s[]) AS %s", ", generate_series(1, $2::integer)"}
	oneRow   = form{"1", 2, "$%d::%s AS %s", ""}
)

// argument is what a statement is given for a column of its rows.
type argument struct{ name, kind string }

// rows are the rows u of the arguments.
func (f form) rows(columns []argument) string {
	values := []string{"$1::text AS tenant_id"}
	for i, c := range columns {
		values = append(values, fmt.Sprintf(f.value, f.first+i, c.kind, c.name))
	}
	return "(SELECT " + strings.Join(values, ", ") + f.rest + ") u"
}

// insertSQL inserts every row, in their order, or fails.
func (t *table[R]) insertSQL(f form) string {
	var names, values []string
	for _, c := range t.all {
		names = append(names, c.name)
		values = append(values, c.set())
	}
	return fmt.Sprintf("INSERT INTO %s (tenant_id, %s) SELECT u.tenant_id, %s FROM %s %s",
		t.name, strings.Join(names, ", "), strings.Join(values, ", "), f.rows(arguments(t.all)), t.conflict)
}

// proven is an update that proves that it found as many rows as it was given, because COMMIT travels behind it.
const proven = "WITH written AS (%s RETURNING 1) SELECT settlement_expect(count(*), %s, '%s') FROM written"

// updateSQL finds each row at the place where it was read. It is locked, or the reservation that it belongs to is, so it is still there; the
// key is asked for all the same. The tenant is a column of u: compared with $1, it would let a planner that believes the table empty read all
// of the tenant's rows.
func (t *table[R]) updateSQL(f form) string {
	var sets []string
	conditions := []string{"t.ctid = u.place", "t.tenant_id = u.tenant_id"}
	for _, c := range t.mutable {
		sets = append(sets, c.name+" = "+c.set())
	}
	for _, c := range t.key {
		conditions = append(conditions, "t."+c.name+" = u."+c.name)
	}
	given := slices.Concat([]argument{{"place", "tid"}}, arguments(t.key), arguments(t.mutable))
	if t.condition != "" {
		given = append(given, argument{"previous", "bigint"})
		conditions = append(conditions, t.condition)
	}
	update := fmt.Sprintf("UPDATE %s t SET %s FROM %s WHERE %s",
		t.name, strings.Join(sets, ", "), f.rows(given), strings.Join(conditions, " AND "))
	return fmt.Sprintf(proven, update, f.count, "update of "+t.name)
}

// moveSQL adds to the counters of rows that are not locked, whose places are not known any more. Their other columns must be as they were read.
func (t *table[R]) moveSQL(f form) string {
	var sets []string
	conditions := []string{"t.tenant_id = u.tenant_id"}
	for _, c := range t.key {
		conditions = append(conditions, "t."+c.name+" = u."+c.name)
	}
	for _, c := range t.mutable {
		if slices.Contains(t.counters, c.name) {
			sets = append(sets, fmt.Sprintf("%[1]s = t.%[1]s + u.%[1]s", c.name))
		} else {
			conditions = append(conditions, fmt.Sprintf("t.%[1]s IS NOT DISTINCT FROM u.%[1]s", c.name))
		}
	}
	move := fmt.Sprintf("UPDATE %s t SET %s FROM %s WHERE %s AND (%s)",
		t.name, strings.Join(sets, ", "), f.rows(slices.Concat(arguments(t.key), arguments(t.mutable))), strings.Join(conditions, " AND "), t.room)
	return fmt.Sprintf(proven, move, f.count, "move of "+t.name)
}

// set is the column's value in a statement that writes.
func (c *column[R]) set() string {
	if c.cast != "" {
		return "u." + c.name + "::" + c.cast
	}
	return "u." + c.name
}

func arguments[R any](columns []column[R]) []argument {
	return array(columns, func(c *column[R]) argument { return argument{c.name, c.kind} })
}

// queueInsert adds the statement that inserts the rows, if there are any.
func (t *table[R]) queueInsert(b *pgx.Batch, tenant string, rows []R) {
	switch len(rows) {
	case 0:
	case 1:
		b.Queue(t.insertOne, appendValues([]any{tenant}, &rows[0], t.all)...)
	default:
		b.Queue(t.insert, appendArrays([]any{tenant, int64(len(rows))}, rows, t.all)...)
	}
}

// queueUpdate adds the statement that updates the rows where they were read, if there are any. Their previous values are those of the table's
// condition.
func (t *table[R]) queueUpdate(b *pgx.Batch, tenant string, places map[string]pgtype.TID, rows []R, previous ...int64) {
	place := func(r *R) pgtype.TID { return places[t.keyOf(r)] }
	switch len(rows) {
	case 0:
	case 1:
		args := appendValues([]any{tenant, place(&rows[0])}, &rows[0], t.key, t.mutable)
		if t.condition != "" {
			args = append(args, previous[0])
		}
		b.Queue(t.updateOne, args...)
	default:
		args := appendArrays([]any{tenant, int64(len(rows)), array(rows, place)}, rows, t.key, t.mutable)
		if t.condition != "" {
			args = append(args, previous)
		}
		b.Queue(t.update, args...)
	}
}

// queueMove adds the statement that moves the rows' counters, if there are any rows. Each row has by how much in its counters.
func (t *table[R]) queueMove(b *pgx.Batch, tenant string, rows []R) {
	switch len(rows) {
	case 0:
	case 1:
		b.Queue(t.moveOne, appendValues([]any{tenant}, &rows[0], t.key, t.mutable)...)
	default:
		b.Queue(t.move, appendArrays([]any{tenant, int64(len(rows))}, rows, t.key, t.mutable)...)
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

func appendValues[R any](args []any, row *R, columns ...[]column[R]) []any {
	for _, some := range columns {
		for _, c := range some {
			args = append(args, c.value(row))
		}
	}
	return args
}
