package main

import (
	"strings"
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// TestReconcileAJobFromItsPlanToItsReport follows an operator who cancels what was never submitted.
func TestReconcileAJobFromItsPlanToItsReport(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, id := range []string{"job-1", "job-2", "job-4"} {
		d.reserved(id)
	}
	d.reserved("job-3", func(r *settlementv1.ReserveRequest) {
		r.Funding = &settlementv1.Funding{Source: &settlementv1.Funding_FreeAttempt{FreeAttempt: &settlementv1.FreeAttempt{}}}
	})
	d.reserved("job-5", func(r *settlementv1.ReserveRequest) { r.TtlSeconds = new(int64(60)) })

	d.said("plan", 0, "plan", "--job-id=cancel-1", "--action=CANCEL", "--chunk-size=2", "--save=FILE:manifest.json")
	d.said("plan_json", 0, "plan", "--job-id=cancel-1", "--action=CANCEL", "--chunk-size=2", "--output=json")
	d.said("plan_saved_twice", 1, "plan", "--job-id=cancel-1", "--action=CANCEL", "--save=FILE:manifest.json")
	d.said("plan_nothing", 0, "plan", "--job-id=cancel-2", "--action=CANCEL", "--account=nobody", "--save=FILE:nothing.json")
	d.said("register", 0, "register", "--manifest=FILE:manifest.json", "--by=anna")
	d.said("register_again", 0, "register", "--manifest=FILE:manifest.json", "--by=bert")
	d.said("register_json", 0, "register", "--manifest=FILE:manifest.json", "--by=bert", "--output=json")
	d.file("targets.csv", "reservation_id;revision;taken_unit;taken\r\njob-1;0;CREDITS;10\r\n")
	d.said("register_other_content", 1, "register", "--manifest=FILE:targets.csv", "--job-id=cancel-1", "--action=CANCEL", "--chunk-size=2", "--allow-partial", "--by=bert")
	d.said("register_not_partial", 1, "register", "--manifest=FILE:targets.csv", "--job-id=cancel-2", "--action=CANCEL", "--chunk-size=2", "--by=bert")
	d.said("plan_given", 0, "plan", "--manifest=FILE:targets.csv", "--job-id=cancel-2", "--action=CANCEL", "--chunk-size=2", "--allow-partial")

	const hash = "0ddb6c1ac0d3e3ee8de9a0bd4b81e8b2db6d0b4fbe5c0a8a2f5ea5e5bc6a3e16"
	d.said("run_unapproved", 1, "run", "cancel-1")
	d.said("approve_other_hash", 1, "approve", "cancel-1", "--hash="+hash, "--by=bert")
	approved := d.hash("cancel-1")
	d.said("approve", 0, "approve", "cancel-1", "--hash="+approved, "--by=bert")
	d.said("approve_json", 0, "approve", "cancel-1", "--hash="+approved, "--by=carl", "--output=json")
	d.said("run", 0, "run", "cancel-1")
	d.said("report_halfway", 0, "report", "cancel-1")
	d.said("drain", 0, "drain", "cancel-1")
	d.said("drain_done", 0, "drain", "cancel-1", "--max-chunks=3", "--output=json")
	d.said("run_done", 0, "run", "cancel-1", "--output=json")

	// Somebody had submitted one of them after all, and its cost is learnt late.
	d.DB.Exec("UPDATE reservations SET cancel_reason = 'by hand', revision = revision + 1 WHERE reservation_id = 'job-2'")
	d.said("report", 0, "report", "cancel-1")
	d.said("report_json", 0, "report", "cancel-1", "--output=json")
	d.said("no_such_job", 1, "report", "cancel-9")
}

// hash is that of a registered manifest.
func (d *desk) hash(job string) string {
	d.t.Helper()
	resp, err := settlementv1.NewReconciliationJobServiceClient(d.Conn).GetJob(d.t.Context(), &settlementv1.GetJobRequest{TenantId: apptest.Tenant, JobId: job})
	if err != nil {
		d.t.Fatal(err)
	}
	return resp.GetJob().GetManifestHash()
}

// TestReconcileWhatIsStuckBehindAnUnansweredCheck releases customers, and stops at the one who is no longer as approved.
func TestReconcileWhatIsStuckBehindAnUnansweredCheck(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, id := range []string{"stuck-1", "stuck-2", "stuck-3", "alive"} {
		d.reserved(id)
		d.Permitted(t, apptest.Check(id, id+"/check", settlementv1.Stage_STAGE_INPUT))
	}
	d.Permitted(t, apptest.Submission("alive", "alive/1"))
	d.at(2 * time.Minute)
	d.said("release_plan", 0, "plan", "--job-id=release-1", "--action=RELEASE_CUSTOMER", "--chunk-size=1", "--older-than=1m", "--save=FILE:manifest.json")
	if _, _, status := d.reconcile("register", "--manifest=FILE:manifest.json", "--by=anna"); status != 0 {
		t.Fatalf("register: status %d", status)
	}
	if _, _, status := d.reconcile("approve", "release-1", "--hash="+d.hash("release-1"), "--by=bert"); status != 0 {
		t.Fatalf("approve: status %d", status)
	}
	d.Extend(t, "stuck-2", 3600)
	d.said("release_drain_conflict", 1, "drain", "release-1")
	d.said("release_run_conflict", 1, "run", "release-1")
	d.said("release_plan_given", 0, "plan", "--manifest=FILE:manifest.json")
	d.said("release_report", 0, "report", "release-1")
	d.file("targets.csv", "reservation_id,revision,taken_unit,taken\nalive,1,CREDITS,10\n")
	d.said("jobs_none", 0, "jobs", "--state=REGISTERED")
	if _, _, status := d.reconcile("register", "--manifest=FILE:targets.csv", "--job-id=cancel-1", "--action=CANCEL", "--chunk-size=1", "--allow-partial", "--by=anna"); status != 0 {
		t.Fatalf("register: status %d", status)
	}
	d.said("jobs", 0, "jobs")
	d.said("jobs_json", 0, "jobs", "--state=REGISTERED,DONE", "--output=json")
	d.Verify(t)
}

// TestReconcileListsJobsBeyondAPage has more of them than one answer of the server holds.
func TestReconcileListsJobsBeyondAPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const n = 1001
	d.DB.Exec(`INSERT INTO jobs SELECT 'acme', 'job-' || i, 'CANCEL', 1, 1, repeat('0', 64), 'anna', now(), NULL, NULL, 0, NULL
		FROM generate_series(1, $1::integer) i`, n)
	stdout, stderr, status := d.reconcile("jobs", "--output=json")
	if got := strings.Count(stdout, `"job_id": `); status != 0 || got != n {
		t.Errorf("status %d, %d jobs, %s", status, got, stderr)
	}
}
