package jobs_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// A job is shown with what was approved and how far it has come, before, during and after its run, and looking changes nothing.
func TestInspectAJob(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	m := untouched("j1", 2, f.ids[2], f.ids[0], f.ids[1])
	f.register(t, m)
	sorted := untouched("j1", 2, f.ids...)
	steps := []struct {
		next  int32
		state settlementv1.JobState
		step  func()
	}{
		{0, settlementv1.JobState_JOB_STATE_REGISTERED, func() {}},
		{0, settlementv1.JobState_JOB_STATE_APPROVED, func() { f.approved(t, m) }},
		{2, settlementv1.JobState_JOB_STATE_APPROVED, func() { f.run(t, "j1") }},
		{3, settlementv1.JobState_JOB_STATE_DONE, func() { f.run(t, "j1") }},
	}
	for _, s := range steps {
		s.step()
		before := f.Copy(t)
		got := f.job(t, "j1")
		job := got.GetJob()
		if job.GetNextIndex() != s.next || job.GetState() != s.state || job.GetTotal() != 3 || job.GetChunkSize() != 2 || job.GetAction() != cancelJob {
			t.Errorf("want %d %v: %v", s.next, s.state, job)
		}
		if (job.GetProgressedAt() != nil) != (s.next > 0) {
			t.Errorf("at %d the last progress was at %v", s.next, job.GetProgressedAt())
		}
		if diff := cmp.Diff(sorted.Targets, got.GetTargets(), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		f.Unchanged(t, before)
	}
}

// What was approved and what a reservation is now are two things: a job shows the first, whatever has become of the second.
func TestInspectShowsWhatWasApproved(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	f.register(t, untouched("j1", 1, f.ids...))
	before := f.job(t, "j1")
	f.Settle(t, f.ids[0], "", apptest.Cancelled())
	if diff := cmp.Diff(before, f.job(t, "j1"), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestInspectAnUnknownJob(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	f.register(t, untouched("j1", 1, "r"))
	for _, req := range []*settlementv1.GetJobRequest{
		{TenantId: apptest.Tenant, JobId: "j2"},
		{TenantId: apptest.Tenant, JobId: "J1"},
		{TenantId: "another", JobId: "j1"},
	} {
		_, err := f.Jobs.GetJob(t.Context(), req)
		failure(t, err, codes.NotFound, "NOT_FOUND")
	}
	_, err := f.Jobs.GetJob(t.Context(), &settlementv1.GetJobRequest{TenantId: apptest.Tenant, JobId: "j 1"})
	invalid(t, err, "job_id")
}

// Jobs are listed in pages, the oldest first, and by where they stand.
func TestInspectLists(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	for i := range 7 {
		f.register(t, untouched(fmt.Sprintf("j%d", i), 1, f.ids[:1]...))
	}
	f.approved(t, untouched("j3", 1, f.ids[:1]...))
	f.run(t, "j3")
	f.approved(t, untouched("j5", 1, f.ids[:1]...))
	for _, c := range []struct {
		states []settlementv1.JobState
		want   string
	}{
		{nil, "[j0 j1 j2 j3 j4 j5 j6]"},
		{[]settlementv1.JobState{settlementv1.JobState_JOB_STATE_REGISTERED}, "[j0 j1 j2 j4 j6]"},
		{[]settlementv1.JobState{settlementv1.JobState_JOB_STATE_APPROVED, settlementv1.JobState_JOB_STATE_DONE}, "[j3 j5]"},
		{[]settlementv1.JobState{settlementv1.JobState_JOB_STATE_DONE}, "[j3]"},
	} {
		if got := fmt.Sprint(f.list(t, c.states)); got != c.want {
			t.Errorf("%v: %s, want %s", c.states, got, c.want)
		}
	}
	req := &settlementv1.ListJobsRequest{TenantId: apptest.Tenant, States: []settlementv1.JobState{0}}
	_, err := f.Jobs.ListJobs(t.Context(), req)
	invalid(t, err, "states[0]")
	_, err = f.Jobs.ListJobs(t.Context(), &settlementv1.ListJobsRequest{TenantId: apptest.Tenant, PageToken: "x"})
	invalid(t, err, "page_token")
	_, err = f.Jobs.ListJobs(t.Context(), &settlementv1.ListJobsRequest{TenantId: "another"})
	failure(t, err, codes.NotFound, "NOT_FOUND")
}

// list reads pages of two until the last.
func (f *fleet) list(t testing.TB, states []settlementv1.JobState) []string {
	t.Helper()
	var ids []string
	req := &settlementv1.ListJobsRequest{TenantId: apptest.Tenant, States: states, PageSize: new(int32(2))}
	for {
		resp, err := f.Jobs.ListJobs(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range resp.GetJobs() {
			ids = append(ids, j.GetJobId())
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return ids
		}
	}
}
