package ledgerdb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

func TestNothingLeavesThatIsNotArchived(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	move := func(id, columns string) string {
		return fmt.Sprintf(`WITH gone AS (DELETE FROM reservations WHERE reservation_id = '%s' RETURNING *)
			INSERT INTO archived_reservations (tenant_id, %s) SELECT tenant_id, %s FROM gone`, id, reservationColumns, columns)
	}
	const guarded, check = "SD002", "23514"
	for sql, state := range map[string]string{
		"DELETE FROM reservations WHERE reservation_id = 'r1'":                                   guarded,
		move("r1", strings.Replace(reservationColumns, "budget_micros", "budget_micros + 1", 1)): guarded,
		move("r2", reservationColumns):                                                           check, // its cost is not known
		move("r3", reservationColumns):                                                           check, // it is open
		fmt.Sprintf("INSERT INTO archived_reservations (tenant_id, %[1]s) SELECT tenant_id, %[1]s FROM reservations WHERE reservation_id = 'r1'",
			reservationColumns): guarded,
	} {
		w.refused(w.db.Read(), sql, state)
		w.refused(w.db.Owner(), sql, state)
	}
	// A session's own table of the name is no archive.
	conn := connection(t, w.db.Read())
	if _, err := conn.Exec(t.Context(), "CREATE TEMP TABLE archived_reservations AS SELECT * FROM reservations"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "DELETE FROM reservations"); postgres.SQLState(err) != "SD002" {
		t.Errorf("with a table of the session's: %v", err)
	}
	w.sound()
}

// The two tables have the same columns in the same order, and the same checks; the view has all of them.
func TestTheArchiveIsOfTheSameShape(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	columns := func(table string) string {
		return postgrestest.Value[string](db, `SELECT string_agg(format('%s %s %s', attname, format_type(atttypid, atttypmod), attcollation), ', ' ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0`, table)
	}
	checks := func(table string) string {
		return postgrestest.Value[string](db, `SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid), E'\n' ORDER BY conname)
			FROM pg_constraint WHERE conrelid = $1::regclass AND contype = 'c' AND conname <> 'archived_reservations_are_over'`, table)
	}
	for _, other := range []string{"archived_reservations", "all_reservations"} {
		if diff := cmp.Diff(columns("reservations"), columns(other)); diff != "" {
			t.Errorf("%s: %s", other, diff)
		}
	}
	if diff := cmp.Diff(checks("reservations"), checks("archived_reservations")); diff != "" {
		t.Error(diff)
	}
}
