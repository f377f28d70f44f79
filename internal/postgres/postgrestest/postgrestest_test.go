package postgrestest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryTestHasItsOwnDatabase(t *testing.T) {
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			db := New(t)
			db.Exec("CREATE TABLE mine (n int)")
			db.Exec("INSERT INTO mine VALUES (1)")
			if got := Value[int](db, "SELECT count(*) FROM mine"); got != 1 {
				t.Errorf("%d rows", got)
			}
			var role, wait string
			if err := db.Ledger().QueryRow(t.Context(), "SELECT current_user, current_setting('lock_timeout')").Scan(&role, &wait); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{Service, "500ms"}, []string{role, wait}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
