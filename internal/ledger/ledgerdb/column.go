package ledgerdb

import (
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// column maps one column of a table to a field of its row R. All rows of a statement travel as one array for each column, and a single row as
// plain values.
type column[R any] struct {
	name   string
	kind   string          // the SQL type of the value, or of the array's elements
	cast   string          // from kind to the type of the column, where it is another one
	dest   func(*R) any    // where a value of the column is scanned to; NULL scans as the zero value
	value  func(*R) any    // of a row
	values func([]R) any   // the array of a statement's rows
	text   func(*R) string // the value, of a column that is part of a key
}

// written gives a column the values that it is written with. They are never NULL.
func written[R, V any](c column[R], value func(*R) V) column[R] {
	c.value = func(r *R) any { return value(r) }
	c.values = func(rows []R) any { return array(rows, value) }
	return c
}

// nullable gives a column the values that it is written with, which say whether they are NULL.
func nullable[R, V any](c column[R], value func(*R) V) column[R] {
	c.value = func(r *R) any { return value(r) }
	c.values = func(rows []R) any { return pgtype.FlatArray[V](array(rows, value)) }
	return c
}

// text is a column that is never NULL.
func text[R any](name string, field func(*R) *string) column[R] {
	return written(column[R]{
		name: name, kind: "text",
		dest: func(r *R) any { return (*nullText)(field(r)) },
		text: func(r *R) string { return *field(r) },
	}, func(r *R) string { return *field(r) })
}

// optional is a text column whose NULL is the empty string.
func optional[R any](name string, field func(*R) *string) column[R] {
	return nullable(text(name, field), func(r *R) pgtype.Text { return pgtype.Text{String: *field(r), Valid: *field(r) != ""} })
}

// bigint is a column that is never NULL.
func bigint[R any](name string, field func(*R) *int64) column[R] {
	c := column[R]{name: name, kind: "bigint", dest: func(r *R) any { return (*nullInt)(field(r)) }}
	return written(c, func(r *R) int64 { return *field(r) })
}

// optionalBigint is a column whose NULL is a nil pointer.
func optionalBigint[R any, N ~int64](name string, field func(*R) **N) column[R] {
	c := column[R]{name: name, kind: "bigint", dest: func(r *R) any { return field(r) }}
	return nullable(c, func(r *R) pgtype.Int8 {
		if p := *field(r); p != nil {
			return pgtype.Int8{Int64: int64(*p), Valid: true}
		}
		return pgtype.Int8{}
	})
}

// bigintWhen is a column that is NULL in rows where it has no meaning.
func bigintWhen[R any](name string, field func(*R) *int64, meant func(*R) bool) column[R] {
	return nullable(bigint(name, field), func(r *R) pgtype.Int8 { return pgtype.Int8{Int64: *field(r), Valid: meant(r)} })
}

// integer is a 32-bit column that is never NULL.
func integer[R any](name string, field func(*R) *int32) column[R] {
	return integerWhen(name, field, func(*R) bool { return true })
}

// integerWhen is a 32-bit column that is NULL in rows where it has no meaning.
func integerWhen[R any](name string, field func(*R) *int32, meant func(*R) bool) column[R] {
	c := column[R]{name: name, kind: "integer", dest: func(r *R) any { return (*nullInt32)(field(r)) }}
	return nullable(c, func(r *R) pgtype.Int4 { return pgtype.Int4{Int32: *field(r), Valid: meant(r)} })
}

// boolean is a column that is never NULL.
func boolean[R any](name string, field func(*R) *bool) column[R] {
	c := column[R]{name: name, kind: "boolean", dest: func(r *R) any { return field(r) }}
	return written(c, func(r *R) bool { return *field(r) })
}

// timestamp is a column that is never NULL. Times are UTC, in microseconds, as the database keeps them.
func timestamp[R any](name string, field func(*R) *time.Time) column[R] {
	return written(column[R]{
		name: name, kind: "timestamptz",
		dest: func(r *R) any { return (*nullTime)(field(r)) },
		text: func(r *R) string { return strconv.FormatInt(field(r).UnixMicro(), 10) },
	}, func(r *R) time.Time { return *field(r) })
}

// optionalTimestamp is a column whose NULL is the zero time.
func optionalTimestamp[R any](name string, field func(*R) *time.Time) column[R] {
	return nullable(timestamp(name, field), func(r *R) pgtype.Timestamptz {
		return pgtype.Timestamptz{Time: *field(r), Valid: !field(r).IsZero()}
	})
}

// encoded is a column whose value travels as text; the empty text is NULL.
func encoded[R any](name, sqlType string, dest func(*R) any, encode func(*R) string) column[R] {
	return nullable(column[R]{name: name, kind: "text", cast: sqlType, dest: dest}, func(r *R) pgtype.Text {
		s := encode(r)
		return pgtype.Text{String: s, Valid: s != ""}
	})
}

func array[R, V any](rows []R, value func(*R) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = value(&rows[i])
	}
	return values
}

// Scanners that take NULL for the zero value.
type (
	nullText  string
	nullInt   int64
	nullInt32 int32
	nullTime  time.Time
)

// ScanText implements pgtype.TextScanner.
func (s *nullText) ScanText(v pgtype.Text) error {
	*s = nullText(v.String)
	return nil
}

// ScanInt64 implements pgtype.Int64Scanner.
func (n *nullInt) ScanInt64(v pgtype.Int8) error {
	*n = nullInt(v.Int64)
	return nil
}

// ScanInt64 implements pgtype.Int64Scanner.
func (n *nullInt32) ScanInt64(v pgtype.Int8) error {
	*n = nullInt32(v.Int64)
	return nil
}

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (t *nullTime) ScanTimestamptz(v pgtype.Timestamptz) error {
	if !v.Valid {
		*t = nullTime{}
		return nil
	}
	*t = nullTime(v.Time.UTC())
	return nil
}
