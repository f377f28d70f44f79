package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// What a connection of the ledger writes is what the server reads, NULLs, empty arrays and odd values included.
func TestArraysArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	moment := time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for _, c := range []struct {
		kind  string
		array any
		want  string
	}{
		{"text[]", []string{"a", "", "é\"{},\\", "NULL"}, `{a,"","é\"{},\\","NULL"}`},
		{"text[]", []string{}, "{}"},
		{"bigint[]", []int64{0, -1, 1 << 62}, "{0,-1,4611686018427387904}"},
		{"boolean[]", []bool{true, false}, "{t,f}"},
		{"timestamptz[]", []time.Time{moment, time.Date(2026, 11, 30, 1, 2, 3, 4000, time.UTC)}, `{"1969-12-31 23:59:59.999999+00","2026-11-30 01:02:03.000004+00"}`},
		{"tid[]", []pgtype.TID{{BlockNumber: 7, OffsetNumber: 3, Valid: true}, {}}, `{"(7,3)",NULL}`},
		{"text[]", pgtype.FlatArray[pgtype.Text]{{String: "x", Valid: true}, {}, {String: "", Valid: true}}, `{x,NULL,""}`},
		{"bigint[]", pgtype.FlatArray[pgtype.Int8]{{}, {Int64: 5, Valid: true}}, "{NULL,5}"},
		{"integer[]", pgtype.FlatArray[pgtype.Int4]{{Int32: -5, Valid: true}, {}}, "{-5,NULL}"},
		{"timestamptz[]", pgtype.FlatArray[pgtype.Timestamptz]{{}, {Time: moment, Valid: true}}, `{NULL,"1969-12-31 23:59:59.999999+00"}`},
		{"text[]", []string(nil), ""},
		{"bigint[]", []string{"12345678"}, "{12345678}"}, // another type: converted
		{"integer[]", []int64{7}, "{7}"},
	} {
		for _, byPgx := range []bool{false, true} {
			pool := open(t, postgres.Config{DSN: db.ServiceDSN(), Kind: postgres.Ledger, MaxConns: 1})
			if byPgx {
				pool = db.Read()
			}
			if got := one[*string](t, pool, "SELECT $1::"+c.kind+"::text", c.array); got == nil && c.want != "" || got != nil && *got != c.want {
				t.Errorf("%s %v, by pgx %t: %v", c.kind, c.array, byPgx, cmp.Diff(&c.want, got))
			}
		}
	}
}

// Numbers are no times, whatever their bytes would be.
func TestAnArrayOfAnotherTypeIsRefused(t *testing.T) {
	t.Parallel()
	pool := open(t, postgres.Config{DSN: postgrestest.New(t).ServiceDSN(), Kind: postgres.Ledger, MaxConns: 1})
	var got string
	if err := pool.QueryRow(t.Context(), "SELECT $1::timestamptz[]::text", []int64{1}).Scan(&got); err == nil {
		t.Errorf("a number is the time %s", got)
	}
}

// An array is encoded without an allocation for each of its elements.
func TestArraysAreEncodedWhole(t *testing.T) {
	db := postgrestest.New(t)
	conn, err := open(t, postgres.Config{DSN: db.ServiceDSN(), Kind: postgres.Ledger, MaxConns: 1}).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	m, words, buf := conn.Conn().TypeMap(), slices.Repeat([]string{"word"}, 1000), make([]byte, 0, 1<<16)
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := m.Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, words, buf); err != nil {
			t.Error(err)
		}
	})
	if allocs > 10 {
		t.Errorf("%.0f allocations for 1,000 elements", allocs)
	}
}
