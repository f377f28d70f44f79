package jobs_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

// corruptions are ways in which what is stored of a job, j1 of five targets by two with one chunk done, can come to contradict itself.
var corruptions = []struct {
	name, what, verify string
	sql                string
}{
	{"a target's revision", "manifest", "a_manifest_is_what_was_approved", "UPDATE job_targets SET revision = 7 WHERE ordinal = 4"},
	{"a done target's revision", "manifest", "a_manifest_is_what_was_approved", "UPDATE job_targets SET revision = 7 WHERE ordinal = 0"},
	{"a target's amount", "manifest", "a_manifest_is_what_was_approved", "UPDATE job_targets SET taken_amount = 11 WHERE ordinal = 3"},
	{"a target's unit", "manifest", "a_manifest_is_what_was_approved", "UPDATE job_targets SET taken_unit = 'FREE_ATTEMPTS', taken_amount = 1 WHERE ordinal = 3"},
	{"a target's id", "manifest", "a_manifest_is_what_was_approved", "UPDATE job_targets SET reservation_id = 'r00003x' WHERE ordinal = 3"},
	{"a target that is gone", "manifest", "a_manifest_is_what_was_approved", "DELETE FROM job_targets WHERE ordinal = 4"},
	{"all targets gone", "manifest", "a_manifest_is_what_was_approved", "DELETE FROM job_targets"},
	{"a manifest cut short", "manifest", "a_manifest_is_what_was_approved", "DELETE FROM job_targets WHERE ordinal = 4; UPDATE jobs SET total = 4"},
	{"one target more", "manifest", "a_manifest_is_what_was_approved", "INSERT INTO job_targets VALUES ('acme', 'j1', 5, 'r00005', 0, 'CREDITS', 10)"},
	{"a total that is too small", "manifest", "a_manifest_is_what_was_approved", "UPDATE jobs SET total = 4"},
	{"targets in another order", "manifest", "targets_are_in_the_order_of_their_ids", `
		UPDATE job_targets SET ordinal = 9 WHERE ordinal = 3; UPDATE job_targets SET ordinal = 3 WHERE ordinal = 4; UPDATE job_targets SET ordinal = 4 WHERE ordinal = 9`},
	{"a gap between targets", "manifest", "targets_are_in_the_order_of_their_ids", "UPDATE job_targets SET ordinal = 5 WHERE ordinal = 4"},
	{"another action", "manifest", "a_manifest_is_what_was_approved", "UPDATE jobs SET action = 'RELEASE_CUSTOMER'"},
	{"another chunk size", "manifest", "a_manifest_is_what_was_approved", "UPDATE jobs SET chunk_size = 1"},
	{"another hash", "manifest", "a_manifest_is_what_was_approved", "UPDATE jobs SET manifest_hash = repeat('0', 64)"},
	{"a checkpoint inside a chunk", "next_index", "progress_stops_between_chunks", "ALTER TABLE jobs DROP CONSTRAINT progress_stops_between_chunks; UPDATE jobs SET next_index = 3"},
	{"a checkpoint below nothing", "next_index", "progress_stops_between_chunks", "ALTER TABLE jobs DROP CONSTRAINT progress_stops_between_chunks; UPDATE jobs SET next_index = -2"},
	{"a checkpoint behind the end", "next_index", "progress_stops_between_chunks", "ALTER TABLE jobs DROP CONSTRAINT progress_stops_between_chunks; UPDATE jobs SET next_index = 6"},
	{"a checkpoint turned back", "audit", "an_audit_is_the_beginning_of_its_manifest", "UPDATE jobs SET next_index = 0, progressed_at = NULL"},
	{"a checkpoint put forward", "audit", "an_audit_is_the_beginning_of_its_manifest", "UPDATE jobs SET next_index = 4"},
	{"a checkpoint at the end", "audit", "an_audit_is_the_beginning_of_its_manifest", "UPDATE jobs SET next_index = 5"},
	{"an audit that is gone", "audit", "an_audit_is_the_beginning_of_its_manifest", "DELETE FROM job_audit WHERE ordinal = 1"},
	{"all audits gone", "audit", "an_audit_is_the_beginning_of_its_manifest", "DELETE FROM job_audit"},
	{"a surplus audit", "audit", "an_audit_is_the_beginning_of_its_manifest", "INSERT INTO job_audit VALUES ('acme', 'j1', 2, 'r00002', 0, 1, 'CREDITS', 10, now())"},
	{"a surplus audit far away", "audit", "an_audit_is_the_beginning_of_its_manifest", "INSERT INTO job_audit VALUES ('acme', 'j1', 9, 'r00009', 0, 1, 'CREDITS', 10, now())"},
	{"an audit of another id", "audit", "an_audit_is_the_beginning_of_its_manifest", "UPDATE job_audit SET reservation_id = 'r00001x' WHERE ordinal = 1"},
	{"an audit of another revision", "audit", "an_audit_is_the_beginning_of_its_manifest", "UPDATE job_audit SET previous_revision = 3, new_revision = 4 WHERE ordinal = 1"},
	{"an audit of two revisions", "audit", "an_audit_is_the_beginning_of_its_manifest", "ALTER TABLE job_audit DROP CONSTRAINT a_change_is_one_revision; UPDATE job_audit SET new_revision = 2 WHERE ordinal = 1"},
	{"an audit of another amount", "audit", "an_audit_is_the_beginning_of_its_manifest", "UPDATE job_audit SET taken_amount = 9 WHERE ordinal = 0"},
	{"an audit of another unit", "audit", "an_audit_is_the_beginning_of_its_manifest", "UPDATE job_audit SET taken_unit = 'FREE_ATTEMPTS' WHERE ordinal = 0"},
}

// buffer is a log that a server writes and a test reads.
type buffer struct {
	mu  sync.Mutex
	log bytes.Buffer
}

// Write appends to the log.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

// take empties the log.
func (b *buffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.log.Reset()
	return b.log.String()
}

// What is stored of a job and contradicts itself is a conflict that says where. Nothing is done and nothing is repaired, it is loud in the
// log, and verify names the invariant that is broken.
func TestChunkCommitsTogetherNothingOfACorruptJob(t *testing.T) {
	t.Parallel()
	var log buffer
	f := newFleet(t, 6, func(c *app.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	f.approved(t, f.manifest(t, "j1", 2, f.ids[:5]...))
	f.run(t, "j1")
	whole := f.Copy(t)
	for _, c := range corruptions {
		t.Run(c.name, func(t *testing.T) {
			log.take()
			restore := f.corrupt(t, c.sql)
			before := f.Copy(t)
			_, err := f.Jobs.RunChunk(t.Context(), runOf("j1"))
			if m := failure(t, err, codes.FailedPrecondition, "JOB_CORRUPT").GetMetadata(); m["job_id"] != "j1" || m["what"] != c.what {
				t.Errorf("%v, want %s", m, c.what)
			}
			f.Unchanged(t, before)
			if said := log.take(); !strings.Contains(said, "a job contradicts itself") || !strings.Contains(said, "what="+c.what) {
				t.Errorf("the log says %q", said)
			}
			f.wantFinding(t, c.verify)
			restore()
			f.Unchanged(t, whole)
		})
	}
	f.Verify(t)
	if c := f.run(t, "j1"); c.GetNextIndex() != 4 {
		t.Errorf("the restored job: %v", c)
	}
}

// An end of a reservation that claims to be open is in the ledger already. That is nobody's conflict: the chunk fails loudly, and whole.
func TestChunkCommitsTogetherNothingBesideAnEndThatStands(t *testing.T) {
	t.Parallel()
	var log buffer
	f := newFleet(t, 2, func(c *app.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	f.approved(t, f.manifest(t, "j1", 2))
	f.DB.Exec(`INSERT INTO entries (tenant_id, event_key, event_type, account_id, reservation_id, revision, budget_held_change, budget_spent_change, created_at)
		VALUES ('acme', 'end ' || $1, 'EXPIRED', 'alice', $1, 1, 0, 0, now())`, f.ids[1])
	before := f.Copy(t)
	_, err := f.Jobs.RunChunk(t.Context(), runOf("j1"))
	failure(t, err, codes.Internal, "INTERNAL")
	if said := log.take(); !strings.Contains(said, "the ledger has an end of an open reservation") || !strings.Contains(said, f.ids[1]) {
		t.Errorf("the log says %q", said)
	}
	f.Unchanged(t, before)
}

// corrupt runs SQL with every guard off, and returns what brings back the rows as they were.
func (f *fleet) corrupt(t *testing.T, sql string) (restore func()) {
	t.Helper()
	f.DB.Exec(`CREATE TABLE kept_jobs AS TABLE jobs; CREATE TABLE kept_targets AS TABLE job_targets; CREATE TABLE kept_audit AS TABLE job_audit;
		SET session_replication_role = replica; ` + sql + `; RESET session_replication_role`)
	return func() {
		f.DB.Exec(`SET session_replication_role = replica;
			DELETE FROM jobs; DELETE FROM job_targets; DELETE FROM job_audit;
			INSERT INTO jobs TABLE kept_jobs; INSERT INTO job_targets TABLE kept_targets; INSERT INTO job_audit TABLE kept_audit;
			DROP TABLE kept_jobs, kept_targets, kept_audit; RESET session_replication_role`)
		for name, constraint := range map[string]string{
			"jobs ADD CONSTRAINT progress_stops_between_chunks": "(next_index BETWEEN 0 AND total AND (next_index % chunk_size = 0 OR next_index = total))",
			"job_audit ADD CONSTRAINT a_change_is_one_revision": "(previous_revision >= 0 AND new_revision = previous_revision + 1)",
		} {
			drop := strings.Replace(name, "ADD CONSTRAINT", "DROP CONSTRAINT IF EXISTS", 1)
			f.DB.Exec("ALTER TABLE " + drop + "; ALTER TABLE " + name + " CHECK " + constraint)
		}
	}
}

// wantFinding fails the test unless verify finds an invariant broken.
func (f *fleet) wantFinding(t *testing.T, invariant string) {
	t.Helper()
	findings, err := ledgerdb.Verify(t.Context(), f.DB.Read(), ledger.TenantID(apptest.Tenant))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range findings {
		if found.Invariant == invariant {
			return
		}
	}
	t.Errorf("verify found %+v, and not %s", findings, invariant)
}
