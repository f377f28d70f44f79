package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// interruptedBy is how a command ends that a signal came to before it was done.
var interruptedBy = map[syscall.Signal]int{syscall.SIGINT: statusInterrupted, syscall.SIGTERM: statusInterrupted, syscall.SIGKILL: -1}

// TestWhoeverIsInterruptedSaysSoInOneWay has commands wait for a locked table, and interrupts them.
func TestWhoeverIsInterruptedSaysSoInOneWay(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.completed("known", 120)
	d.reserved("job-1")
	d.approvedJob("cancel-1", 1)
	d.file("usage.csv", "request_key,cost,currency\nknown,0.00012,USD\n")
	database := "--database=" + d.DB.ServiceDSN()
	for _, args := range [][]string{
		{"verify", database},
		{"archive", database, "--older-than=1m"},
		{"migrate", "--database=" + d.DB.OwnerDSN()},
		{"reconcile", "plan", "--job-id=j", "--action=CANCEL"},
		{"reconcile", "run", "cancel-1"},
		{"reconcile", "drain", "cancel-1"},
		{"reconcile", "import", "--provider=studio", "--file=" + d.dir + "/usage.csv"},
		{"reconcile", "exceptions"},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			status, stderr := d.interrupted(sig, args...)
			if status != statusInterrupted || !strings.Contains(stderr, "settlementd: "+sig.String()+" signal received") {
				t.Errorf("%v: status %d, %s", args, status, stderr)
			}
		}
	}
}

// interrupted runs a command while all tables are locked, and interrupts it when it has come to one.
func (d *desk) interrupted(sig syscall.Signal, args ...string) (status int, stderr string) {
	d.t.Helper()
	lock, err := d.DB.Owner().Begin(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = lock.Exec(d.t.Context(), `DO $$ DECLARE t regclass; BEGIN
		FOR t IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace LOOP
			EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', t);
		END LOOP;
	END $$`)
	if err != nil {
		d.t.Fatal(err)
	}
	before := waitingAt(d.DB)
	p := start(d.t, []string{"SETTLEMENTD_SERVER=" + d.Address, "SETTLEMENTD_TENANT=" + apptest.Tenant}, args...)
	postgrestest.Until(d.t, strings.Join(args, " ")+" waits", func() bool { return waitingAt(d.DB) > before })
	status = p.stop(sig)
	_, stderr = p.said()
	if err := lock.Rollback(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	return status, stderr
}

// waitingAt counts who waits for a lock, but for the server's own search for what is overdue.
func waitingAt(db *postgrestest.DB) int {
	return postgrestest.Value[int](db, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock' AND query NOT LIKE '%overdue_tenants%'`)
}

// TestAServerThatIsInterruptedEndsWell stops it before it can serve: its database does not answer yet.
func TestAServerThatIsInterruptedEndsWell(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		th := newTheatre(t)
		p := start(t, th.env, "dev", "--listen=127.0.0.1:0", "--data-dir="+th.dir+"/data")
		postgrestest.Until(t, "it has begun", func() bool { return len(th.processes()) > 1 })
		if status := p.stop(sig); status != 0 {
			_, stderr := p.said()
			t.Errorf("%v: status %d, %s", sig, status, stderr)
		}
	}
}
