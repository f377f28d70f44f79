package jobs_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// Registering again is a replay, in whatever order the targets come and whoever says it, and touches neither reservations nor the job.
func TestRegisterAgainIsAReplay(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 5)
	m := untouched("j1", 2, f.ids...)
	ledger := f.Copy(t)
	first := f.register(t, m)
	if first.GetReplayed() || first.GetJob().GetState() != settlementv1.JobState_JOB_STATE_REGISTERED {
		t.Errorf("the first is %v", first)
	}
	f.Unmoved(t, ledger)
	before := f.Copy(t)
	again := registration(proto.CloneOf(m))
	slices.Reverse(again.Manifest.Targets)
	again.RegisteredBy = "somebody else"
	second, err := f.Jobs.RegisterJob(t.Context(), again)
	if err != nil || !second.GetReplayed() {
		t.Fatalf("%v, %v", second, err)
	}
	if diff := cmp.Diff(first.GetJob(), second.GetJob(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	f.Unchanged(t, before)
}

// Registering again keeps progress, in the middle of a job and after its end.
func TestRegisterAgainKeepsProgress(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 5)
	m := untouched("j1", 2, f.ids...)
	f.approved(t, m)
	for _, next := range []int32{2, 4, 5} {
		f.run(t, "j1")
		before := f.Copy(t)
		resp := f.register(t, m)
		if !resp.GetReplayed() || resp.GetJob().GetNextIndex() != next || resp.GetJob().GetApprovedBy() != "bob" {
			t.Errorf("after %d: %v", next, resp)
		}
		f.Unchanged(t, before)
	}
	f.wantPrefix(t, "j1", 5)
	f.Verify(t)
}

// Other content under the same id is a conflict that names the field, and changes nothing. A changed list is another job.
func TestRegisterOtherContentIsAConflict(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4)
	m := untouched("j1", 2, f.ids...)
	f.approved(t, m)
	f.run(t, "j1")
	before := f.Copy(t)
	for field, change := range map[string]func(*settlementv1.Manifest){
		"manifest.action":     func(m *settlementv1.Manifest) { m.Action = releaseJob },
		"manifest.chunk_size": func(m *settlementv1.Manifest) { m.ChunkSize = 3 },
		"manifest.targets":    func(m *settlementv1.Manifest) { m.Targets = m.Targets[:3] },
	} {
		other := proto.CloneOf(m)
		change(other)
		_, err := f.Jobs.RegisterJob(t.Context(), registration(other))
		if got := failure(t, err, codes.AlreadyExists, "CONTENT_DIFFERS").GetMetadata()["field"]; got != field {
			t.Errorf("the field is %q, want %q", got, field)
		}
	}
	for name, change := range map[string]func(*settlementv1.Target){
		"id":       func(t *settlementv1.Target) { t.ReservationId = "zzz" },
		"revision": func(t *settlementv1.Target) { t.Revision = new(int32(1)) },
		"taken":    func(t *settlementv1.Target) { t.Taken = new(int64(9)) },
	} {
		other := proto.CloneOf(m)
		change(other.Targets[3])
		_, err := f.Jobs.RegisterJob(t.Context(), registration(other))
		if got := failure(t, err, codes.AlreadyExists, "CONTENT_DIFFERS").GetMetadata()["field"]; got != "manifest.targets" {
			t.Errorf("another %s: the field is %q", name, got)
		}
	}
	f.Unchanged(t, before)
}

// Twenty at once make one job.
func TestRegisterAtOnceMakesOneJob(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	second := apptest.On(t, f.DB)
	var mu sync.Mutex
	isNew := 0
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s := []*apptest.Service{f.Service, second}[i%2]
			resp, err := s.Jobs.RegisterJob(t.Context(), registration(untouched("j1", 2, f.ids...)))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !resp.GetReplayed() {
				isNew++
			}
		})
	}
	wg.Wait()
	if isNew != 1 {
		t.Errorf("%d calls say that they made the job", isNew)
	}
	if n := postgrestest.Value[int](f.DB, "SELECT count(*) FROM job_targets"); n != 3 {
		t.Errorf("%d targets", n)
	}
}

// A job runs only after its manifest, and no other, was approved.
func TestRegisterDoesNotApprove(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	job := f.register(t, untouched("j1", 2, f.ids...)).GetJob()
	before := f.Copy(t)
	_, err := f.Jobs.RunChunk(t.Context(), runOf("j1"))
	failure(t, err, codes.FailedPrecondition, "PRECONDITION_FAILED")
	_, _, err = drain(t.Context(), f.Service, "j1", 5)
	failure(t, err, codes.FailedPrecondition, "PRECONDITION_FAILED")
	wrong := approval(job, "bob")
	wrong.ManifestHash = f.register(t, untouched("j2", 2, f.ids[:2]...)).GetJob().GetManifestHash()
	_, err = f.Jobs.ApproveJob(t.Context(), wrong)
	if field := failure(t, err, codes.FailedPrecondition, "PRECONDITION_FAILED").GetMetadata()["field"]; field != "manifest_hash" {
		t.Errorf("the field is %q", field)
	}
	f.Unmoved(t, before)

	first, err := f.Jobs.ApproveJob(t.Context(), approval(job, "bob"))
	if err != nil || first.GetReplayed() || first.GetJob().GetState() != settlementv1.JobState_JOB_STATE_APPROVED {
		t.Fatalf("%v, %v", first, err)
	}
	for _, by := range []string{"bob", "carol"} {
		again, err := f.Jobs.ApproveJob(t.Context(), approval(job, by))
		if err != nil || !again.GetReplayed() {
			t.Fatalf("%v, %v", again, err)
		}
		if diff := cmp.Diff(first.GetJob(), again.GetJob(), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	}
	if c := f.run(t, "j1"); len(c.GetProcessed()) != 2 {
		t.Errorf("the approved job did %v", c)
	}
}

// Where the server demands two people, the one who registered may not approve.
func TestRegisterAndApproveBySecondPerson(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, func(c *app.Config) { c.RequireSecondApprover = true })
	job := f.register(t, untouched("j1", 1, f.ids...)).GetJob()
	_, err := f.Jobs.ApproveJob(t.Context(), approval(job, "ann"))
	if field := failure(t, err, codes.FailedPrecondition, "PRECONDITION_FAILED").GetMetadata()["field"]; field != "approved_by" {
		t.Errorf("the field is %q", field)
	}
	resp, err := f.Jobs.ApproveJob(t.Context(), approval(job, "bob"))
	if err != nil || resp.GetJob().GetRegisteredBy() != "ann" || resp.GetJob().GetApprovedBy() != "bob" {
		t.Fatalf("%v, %v", resp, err)
	}
}

// The ids of an approval are checked before anything is read.
func TestRegisterCallsCheckTheirFields(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	job := f.register(t, untouched("j1", 1, f.ids...)).GetJob()
	for field, change := range map[string]func(*settlementv1.ApproveJobRequest){
		"tenant_id":     func(r *settlementv1.ApproveJobRequest) { r.TenantId = "a b" },
		"job_id":        func(r *settlementv1.ApproveJobRequest) { r.JobId = "" },
		"manifest_hash": func(r *settlementv1.ApproveJobRequest) { r.ManifestHash = "ABC" },
		"approved_by":   func(r *settlementv1.ApproveJobRequest) { r.ApprovedBy = "" },
	} {
		req := approval(job, "bob")
		change(req)
		_, err := f.Jobs.ApproveJob(t.Context(), req)
		invalid(t, err, field)
	}
	unknown := approval(job, "bob")
	unknown.JobId = "j9"
	_, err := f.Jobs.ApproveJob(t.Context(), unknown)
	failure(t, err, codes.NotFound, "NOT_FOUND")
}
