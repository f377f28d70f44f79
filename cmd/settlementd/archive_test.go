package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// over makes reservations that are over, an hour before now.
func (d *desk) over(n int) {
	d.t.Helper()
	d.at(0)
	for i := range n {
		id := fmt.Sprintf("over-%d", i)
		d.reserved(id, func(r *settlementv1.ReserveRequest) { r.Funding = credits(1) })
		d.Settle(d.t, id, "", apptest.Cancelled())
	}
	d.at(time.Hour)
}

func (d *desk) archive(args ...string) (stdout, stderr string, status int) {
	d.t.Helper()
	return call(d.t, nil, append([]string{"archive", "--database=" + d.DB.ServiceDSN()}, args...)...)
}

func (d *desk) archived() int {
	return postgrestest.Value[int](d.DB, "SELECT count(*) FROM archived_reservations")
}

func TestArchiveMovesWhatIsOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.reserved("open")
	d.over(5)
	stdout, stderr, status := d.archive("--older-than=2h")
	if status != 0 || stderr != "" || !strings.Contains(stdout, "0 reservations archived.") {
		t.Errorf("too young: status %d, %q\n%s", status, stderr, stdout)
	}
	stdout, _, status = d.archive("--older-than=30m", "--chunk=4", "--output=json")
	var report archiveReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	want := archiveReport{Archived: 5, Tenants: []archivedTenant{{Tenant: apptest.Tenant, LookedAt: 6, Archived: 5, Chunks: 2}}}
	if diff := cmp.Diff(want, report); diff != "" || status != 0 || d.archived() != 5 {
		t.Errorf("status %d: %s", status, diff)
	}
	stdout, _, status = d.archive("--older-than=30m", "--tenant="+apptest.Tenant)
	if status != 0 || !strings.Contains(stdout, "acme           1        0      1\n") || !strings.Contains(stdout, "0 reservations archived.") {
		t.Errorf("again: status %d\n%s", status, stdout)
	}
	d.Verify(t)
}

func TestArchiveSaysWhatItCannotDo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for want, args := range map[string][]string{
		"missing flags: --older-than":                {},
		"older-than: must not be negative":           {"--older-than=-1h"},
		"chunk: must be from 1 to 5000, not 0":       {"--older-than=1h", "--chunk=0"},
		"--output must be one of \"table\",\"json\"": {"--older-than=1h", "--output=csv"},
	} {
		if stdout, stderr, status := d.archive(args...); status != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
	if _, stderr, status := d.archive("--older-than=1h", "--tenant=nobody"); status != 1 || !strings.Contains(stderr, "tenant nobody does not exist") {
		t.Errorf("status %d, %q", status, stderr)
	}
	if _, stderr, status := call(t, nil, "archive", "--older-than=1h", "--database=host=/does/not/exist"); status != 1 || !strings.Contains(stderr, "database: ") {
		t.Errorf("status %d, %q", status, stderr)
	}
	d.DB.Exec("ALTER TABLE archived_reservations ADD CONSTRAINT full_up CHECK (reservation_id <> 'over-3')")
	d.over(5)
	stdout, stderr, status := d.archive("--older-than=1m", "--chunk=2")
	if status != 1 || !strings.Contains(stderr, "archive reservation over-3 of tenant acme: ") || !strings.Contains(stderr, "full_up") ||
		!strings.Contains(stdout, "4 reservations archived.") || d.archived() != 4 {
		t.Errorf("in the middle: status %d, %q\n%s", status, stderr, stdout)
	}
	d.Verify(t)
}

// TestArchiveThatIsKilledGoesOn kills the program between the move of a chunk and the end of its COMMIT.
func TestArchiveThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.over(6)
	d.DB.Exec(`CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM set_config(''lock_timeout'', ''0'', true), pg_advisory_xact_lock(7); RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER held AFTER INSERT ON archived_reservations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
			WHEN (NEW.reservation_id = 'over-3') EXECUTE FUNCTION held()`)
	holder, err := d.DB.Owner().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Release()
	if _, err := holder.Exec(t.Context(), "SELECT pg_advisory_lock(7)"); err != nil {
		t.Fatal(err)
	}
	args := []string{"archive", "--database=" + d.DB.ServiceDSN(), "--older-than=1m", "--chunk=2"}
	p := start(t, nil, args...)
	const session = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'settlementd archive'"
	postgrestest.Until(t, "it waits in its COMMIT", func() bool {
		return postgrestest.Value[bool](d.DB, "SELECT EXISTS (SELECT "+session+" AND wait_event_type = 'Lock')")
	})
	if status := p.stop(syscall.SIGKILL); status != -1 {
		t.Errorf("ended with %d", status)
	}
	if n := d.archived(); n != 2 {
		t.Errorf("%d are archived", n)
	}
	d.Verify(t)
	if _, err := holder.Exec(t.Context(), "SELECT pg_advisory_unlock(7)"); err != nil {
		t.Fatal(err)
	}
	postgrestest.Until(t, "its session has ended", func() bool { return !postgrestest.Value[bool](d.DB, "SELECT EXISTS (SELECT "+session+")") })
	d.Verify(t)
	if stdout, stderr, status := call(t, nil, args...); status != 0 || d.archived() != 6 {
		t.Errorf("again: status %d, %s\n%s", status, stderr, stdout)
	}
	d.Verify(t)
}
