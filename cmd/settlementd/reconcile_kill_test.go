package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// TestReconcileAnImportThatIsKilledGoesOn kills the importer in the middle of its file, twice: each line counts once in the end.
func TestReconcileAnImportThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const lines = 3000                                         // in pages of 500
	stops := []struct{ line, key int }{{1400, 38}, {2400, 39}} // lines whose requests somebody holds
	for i := range 40 {
		d.Granted(t, fmt.Sprintf("r-%d", i), fmt.Sprintf("k%d", i), func(r *settlementv1.ReserveRequest) { r.Funding = credits(1) })
	}
	d.completed("conflict", 100)
	var b strings.Builder
	b.WriteString("request_key,cost,currency\n")
	for i := range lines {
		switch {
		case i == stops[0].line:
			fmt.Fprintf(&b, "k%d,0.5,USD\n", stops[0].key)
		case i == stops[1].line:
			fmt.Fprintf(&b, "k%d,0.5,USD\n", stops[1].key)
		case i%100 == 0:
			b.WriteString("conflict,0.0002,USD\n")
		case i%80 == 7:
			fmt.Fprintf(&b, "k%d,0.5,USD\n", i/80)
		default:
			fmt.Fprintf(&b, "nobody's-%d,1,USD\n", i)
		}
	}
	d.file("usage.csv", b.String())
	env := []string{"SETTLEMENTD_SERVER=" + d.Address, "SETTLEMENTD_TENANT=" + apptest.Tenant}
	importing := []string{"reconcile", "import", "--provider=studio", "--file=" + d.dir + "/usage.csv", "--output=json"}
	for _, stop := range stops {
		held, err := d.DB.Owner().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := held.Exec(t.Context(), "SELECT FROM reservations WHERE reservation_id = $1 FOR UPDATE", fmt.Sprintf("r-%d", stop.key)); err != nil {
			t.Fatal(err)
		}
		p := start(t, env, importing...)
		d.until("the import waits in the middle of the file",
			"SELECT coalesce(max(lines_through), 0) > $1 AND EXISTS (SELECT FROM pg_locks WHERE NOT granted) FROM statements", stop.line-500)
		if status := p.stop(syscall.SIGKILL); status != -1 || !p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			t.Errorf("killed with status %d", status)
		}
		if err := held.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, status := call(t, env, importing...)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	for _, want := range []string{
		`"lines": 3000`, `"lines_through": 3001`, `"matched": 40`, `"mismatched": 28`, `"unknown_to_us": 2932`, `"bad": 0`, `"already_known": 0`,
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %s in\n%.800s", want, stdout)
		}
	}
	if n := postgrestest.Value[int64](d.DB, "SELECT count(*) FROM statement_lines"); n != lines {
		t.Errorf("%d lines", n)
	}
	if n := postgrestest.Value[int64](d.DB, "SELECT count(*) FROM entries WHERE event_type = 'COST_RECORDED'"); n != 40 {
		t.Errorf("%d costs were recorded", n)
	}
	d.WantExceptions(t, "r-conflict", apptest.Exception{Key: "conflict", Reason: "COST_CONFLICT", Cost: 200, Count: 28})
	before := d.Copy(t)
	if again, _, status := call(t, env, importing...); status != 0 || again != stdout {
		t.Errorf("the same file again: status %d\n%.800s", status, again)
	}
	d.Unchanged(t, before)
	d.Verify(t)
}

// until waits for something that other processes make true.
func (d *desk) until(what, sql string, args ...any) {
	d.t.Helper()
	for deadline := time.Now().Add(patience); !postgrestest.Value[bool](d.DB, sql, args...); {
		if time.Now().After(deadline) {
			d.t.Fatalf("never: %s", what)
		}
	}
}
