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

// held are lines of interruptedFile whose requests somebody holds while the importer comes to them.
var held = []struct{ line, key int }{{1400, 38}, {2400, 39}}

// interruptedFile has 3000 lines in pages of 500: 40 make a cost known, 28 contradict one, and nobody knows the others.
func interruptedFile() string {
	var b strings.Builder
	b.WriteString("request_key,cost,currency\n")
	for i := range 3000 {
		switch {
		case i == held[0].line:
			fmt.Fprintf(&b, "k%d,0.5,USD\n", held[0].key)
		case i == held[1].line:
			fmt.Fprintf(&b, "k%d,0.5,USD\n", held[1].key)
		case i%100 == 0:
			b.WriteString("conflict,0.0002,USD\n")
		case i%80 == 7:
			fmt.Fprintf(&b, "k%d,0.5,USD\n", i/80)
		default:
			fmt.Fprintf(&b, "nobody's-%d,1,USD\n", i)
		}
	}
	return b.String()
}

// TestReconcileAnImportThatIsKilledGoesOn kills the importer in the middle of its file, twice: each line counts once in the end.
func TestReconcileAnImportThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i := range 40 {
		d.Granted(t, fmt.Sprintf("r-%d", i), fmt.Sprintf("k%d", i), func(r *settlementv1.ReserveRequest) { r.Funding = credits(1) })
	}
	d.completed("conflict", 100)
	d.file("usage.csv", interruptedFile())
	env := []string{"SETTLEMENTD_SERVER=" + d.Address, "SETTLEMENTD_TENANT=" + apptest.Tenant}
	importing := []string{"reconcile", "import", "--provider=studio", "--file=" + d.dir + "/usage.csv", "--output=json"}
	for _, at := range held {
		d.killed(env, importing, at.line, fmt.Sprintf("r-%d", at.key))
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
	if n := postgrestest.Value[int64](d.DB, "SELECT count(*) FROM statement_lines"); n != 3000 {
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

// killed starts an import and kills it while it waits at a line for a reservation that is locked.
func (d *desk) killed(env, importing []string, line int, reservation string) {
	d.t.Helper()
	lock, err := d.DB.Owner().Begin(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := lock.Exec(d.t.Context(), "SELECT FROM reservations WHERE reservation_id = $1 FOR UPDATE", reservation); err != nil {
		d.t.Fatal(err)
	}
	p := start(d.t, env, importing...)
	d.until("the import waits in the middle of the file",
		"SELECT coalesce(max(lines_through), 0) > $1 AND EXISTS (SELECT FROM pg_locks WHERE NOT granted) FROM statements", line-500)
	if status := p.stop(syscall.SIGKILL); status != -1 || p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		d.t.Errorf("killed with status %d", status)
	}
	if err := lock.Rollback(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
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
