package jobs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

func searchFor(action settlementv1.JobAction, change ...func(*settlementv1.JobSearch)) *settlementv1.PlanJobRequest {
	s := &settlementv1.JobSearch{JobId: "j1", Action: action}
	for _, f := range change {
		f(s)
	}
	return &settlementv1.PlanJobRequest{TenantId: apptest.Tenant, Subject: &settlementv1.PlanJobRequest_Search{Search: s}}
}

func (f *fleet) plan(t testing.TB, req *settlementv1.PlanJobRequest) *settlementv1.PlanJobResponse {
	t.Helper()
	before := f.Copy(t)
	resp, err := f.Jobs.PlanJob(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	f.Unchanged(t, before)
	return resp
}

func planned(p *settlementv1.PlanJobResponse) []string {
	var ids []string
	for _, target := range p.GetTargets() {
		ids = append(ids, target.GetTarget().GetReservationId())
	}
	return ids
}

// leftOut tells for each reservation that a search left out what was in its way.
func leftOut(p *settlementv1.PlanJobResponse) map[string]string {
	found := map[string]string{}
	for _, l := range p.GetLeftOut() {
		var words []string
		for _, d := range l.GetDifferences() {
			words = append(words, strings.TrimPrefix(d.GetWhat().String(), "MISMATCH_"))
		}
		found[l.GetReservationId()] = strings.Join(words, ",")
	}
	return found
}

// A search proposes what can be cancelled, and what it proposes can be registered, approved and run as it is.
func TestPlanFindsWhatCanBeCancelled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 6)
	f.Granted(t, "free", "", func(r *settlementv1.ReserveRequest) {
		r.Funding = &settlementv1.Funding{Source: &settlementv1.Funding_FreeAttempt{FreeAttempt: &settlementv1.FreeAttempt{}}}
	})
	f.Permitted(t, apptest.Submission(f.ids[1], "k1")) // at work
	f.Settle(t, f.ids[2], "", apptest.Cancelled())     // over
	f.Permitted(t, apptest.Submission(f.ids[3], "k3"))
	f.Report(t, f.ids[3], "k3", apptest.Unsent("k3")) // pending again
	p := f.plan(t, searchFor(cancelJob))
	want := []string{"free", f.ids[0], f.ids[3], f.ids[4], f.ids[5]}
	if !slices.Equal(planned(p), want) || p.GetMore() || len(p.GetLeftOut()) > 0 {
		t.Errorf("the plan is %q, more %v, left out %v", planned(p), p.GetMore(), p.GetLeftOut())
	}
	totals := &settlementv1.PlanTotals{Targets: 5, Credits: 40, FreeAttempts: 1, Chunks: 1}
	if diff := cmp.Diff(totals, p.GetTotals(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	for _, target := range p.GetTargets() {
		if target.GetReason() == "" || target.GetDeadline() == nil || target.GetState() != pending || target.GetAccountId() != apptest.Account {
			t.Errorf("%v", target)
		}
	}
	if job := f.register(t, p.GetManifest()).GetJob(); job.GetManifestHash() != p.GetManifestHash() {
		t.Errorf("the plan's hash is %s, the job's %s", p.GetManifestHash(), job.GetManifestHash())
	}
	f.approved(t, p.GetManifest())
	if c := f.run(t, "j1"); !c.GetDone() || !slices.Equal(idsOf(c.GetProcessed()), want) {
		t.Errorf("%v", c)
	}
	f.Verify(t)
}

// A search leaves out what expires within its margin, and what is overdue, and says so.
func TestPlanLeavesOutWhatIsDueSoon(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	f.Extend(t, f.ids[0], 3600)
	f.Extend(t, f.ids[1], 1200)
	f.TurnClock(16 * time.Minute) // they live for 15
	p := f.plan(t, searchFor(cancelJob))
	if !slices.Equal(planned(p), f.ids[:1]) {
		t.Errorf("the plan is %q", planned(p))
	}
	if diff := cmp.Diff(map[string]string{f.ids[1]: "DUE_SOON", f.ids[2]: "OVERDUE"}, leftOut(p)); diff != "" {
		t.Error(diff)
	}
	near := f.plan(t, searchFor(cancelJob, func(s *settlementv1.JobSearch) { s.DeadlineMarginSeconds = new(int64(60)) }))
	if !slices.Equal(planned(near), f.ids[:2]) {
		t.Errorf("with a margin of a minute it is %q", planned(near))
	}
}

// A search stops at its bound, the oldest first, and says that there is more; its filters narrow it.
func TestPlanIsBoundedAndFiltered(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4, func(c *app.Config) { c.JobTargetsMax, c.JobChunkMax = 3, 2 })
	f.Granted(t, "a-late-one", "")
	p := f.plan(t, searchFor(cancelJob))
	if len(planned(p)) != 3 || slices.Contains(planned(p), "a-late-one") || !p.GetMore() || p.GetManifest().GetChunkSize() != 2 {
		t.Errorf("the plan is %v", p)
	}
	two := f.plan(t, searchFor(cancelJob, func(s *settlementv1.JobSearch) { s.TargetsMax, s.ChunkSize = new(int32(2)), new(int32(1)) }))
	if len(planned(two)) != 2 || !two.GetMore() || two.GetTotals().GetChunks() != 2 {
		t.Errorf("two of them: %v", two)
	}
	for name, change := range map[string]func(*settlementv1.JobSearch){
		"account":  func(s *settlementv1.JobSearch) { s.AccountId = new("nobody") },
		"provider": func(s *settlementv1.JobSearch) { s.ProviderId = new("none") },
		"age":      func(s *settlementv1.JobSearch) { s.OlderThanSeconds = new(int64(600)) },
		"action":   func(s *settlementv1.JobSearch) { s.Action = releaseJob },
	} {
		if p := f.plan(t, searchFor(cancelJob, change)); len(planned(p)) > 0 || p.GetManifestHash() != "" || p.GetMore() {
			t.Errorf("%s: %v", name, p)
		}
	}
	for field, change := range map[string]func(*settlementv1.JobSearch){
		"search.targets_max":             func(s *settlementv1.JobSearch) { s.TargetsMax = new(int32(4)) },
		"search.chunk_size":              func(s *settlementv1.JobSearch) { s.ChunkSize = new(int32(3)) },
		"search.action":                  func(s *settlementv1.JobSearch) { s.Action = 0 },
		"search.job_id":                  func(s *settlementv1.JobSearch) { s.JobId = "j 1" },
		"search.deadline_margin_seconds": func(s *settlementv1.JobSearch) { s.DeadlineMarginSeconds = new(int64(-1)) },
	} {
		_, err := f.Jobs.PlanJob(t.Context(), searchFor(cancelJob, change))
		invalid(t, err, field)
	}
	_, err := f.Jobs.PlanJob(t.Context(), &settlementv1.PlanJobRequest{TenantId: apptest.Tenant})
	invalid(t, err, "subject")
	unknown := searchFor(cancelJob)
	unknown.TenantId = "nobody"
	_, err = f.Jobs.PlanJob(t.Context(), unknown)
	failure(t, err, codes.NotFound, "NOT_FOUND")
}

// A dry run of a manifest tells of each target whether it fits now, and why not.
func TestPlanTriesAManifest(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 5)
	m := f.manifest(t, "j1", 2)
	m.Targets = append(m.Targets, untouched("", 1, "nothing").Targets...)
	f.Settle(t, f.ids[1], "", apptest.Cancelled())
	f.Extend(t, f.ids[2], 3600)
	m.Targets[3].Taken = new(int64(9))
	p := f.plan(t, dryRun(m))
	var got []string
	for _, target := range p.GetTargets() {
		var words []string
		for _, d := range target.GetDifferences() {
			words = append(words, strings.TrimPrefix(d.GetWhat().String(), "MISMATCH_"))
		}
		if (target.GetReason() == "") != (len(words) > 0) {
			t.Errorf("%v", target)
		}
		got = append(got, strings.Join(words, ","))
	}
	if want := []string{"MISSING", "", "REVISION,STATE", "REVISION", "TAKEN", ""}; !slices.Equal(got, want) {
		t.Errorf("the differences are %q, want %q", got, want)
	}
	totals := &settlementv1.PlanTotals{Targets: 6, Mismatches: 4, Credits: 20, Chunks: 3}
	if diff := cmp.Diff(totals, p.GetTotals(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if job := f.register(t, m).GetJob(); job.GetManifestHash() != p.GetManifestHash() {
		t.Errorf("the plan's hash is %s, the job's %s", p.GetManifestHash(), job.GetManifestHash())
	}
}
