package jobs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// Every way in which a manifest can be malformed, and the field that is to blame.
var malformed = []struct {
	name   string
	field  string
	change func(*settlementv1.Manifest)
}{
	{"no job", "manifest.job_id", func(m *settlementv1.Manifest) { m.JobId = "" }},
	{"a job of 65 characters", "manifest.job_id", func(m *settlementv1.Manifest) { m.JobId = strings.Repeat("j", 65) }},
	{"a job with a space", "manifest.job_id", func(m *settlementv1.Manifest) { m.JobId = "j 1" }},
	{"a job with a newline", "manifest.job_id", func(m *settlementv1.Manifest) { m.JobId = "j1\n" }},
	{"a job that is not ASCII", "manifest.job_id", func(m *settlementv1.Manifest) { m.JobId = "jé" }},
	{"no action", "manifest.action", func(m *settlementv1.Manifest) { m.Action = 0 }},
	{"an unknown action", "manifest.action", func(m *settlementv1.Manifest) { m.Action = 99 }},
	{"no targets", "manifest.targets", func(m *settlementv1.Manifest) { m.Targets = nil }},
	{"65 targets", "manifest.targets", func(m *settlementv1.Manifest) {
		m.Targets = untouched("j", 1, manyIDs(65)...).Targets
	}},
	{"10,001 targets", "manifest.targets", func(m *settlementv1.Manifest) {
		m.Targets = untouched("j", 1, manyIDs(10_001)...).Targets
	}},
	{"chunks of 0", "manifest.chunk_size", func(m *settlementv1.Manifest) { m.ChunkSize = 0 }},
	{"chunks of -1", "manifest.chunk_size", func(m *settlementv1.Manifest) { m.ChunkSize = -1 }},
	{"chunks of 11", "manifest.chunk_size", func(m *settlementv1.Manifest) { m.ChunkSize = 11 }},
	{"chunks of 1,001", "manifest.chunk_size", func(m *settlementv1.Manifest) { m.ChunkSize = 1001 }},
	{"all or nothing", "manifest.allow_partial", func(m *settlementv1.Manifest) { m.AllowPartial = false }},
	{"the same id twice", "manifest.targets[2].reservation_id", func(m *settlementv1.Manifest) {
		m.Targets = append(m.Targets, proto.CloneOf(m.Targets[0]))
	}},
	{"the same id twice with another revision", "manifest.targets[2].reservation_id", func(m *settlementv1.Manifest) {
		again := proto.CloneOf(m.Targets[0])
		again.Revision = new(int32(7))
		m.Targets = append(m.Targets, again)
	}},
	{"no id", "manifest.targets[1].reservation_id", func(m *settlementv1.Manifest) { m.Targets[1].ReservationId = "" }},
	{"an id of 129 characters", "manifest.targets[1].reservation_id", func(m *settlementv1.Manifest) {
		m.Targets[1].ReservationId = strings.Repeat("r", 129)
	}},
	{"an id with a NUL", "manifest.targets[1].reservation_id", func(m *settlementv1.Manifest) { m.Targets[1].ReservationId = "r\x00" }},
	{"no revision", "manifest.targets[0].revision", func(m *settlementv1.Manifest) { m.Targets[0].Revision = nil }},
	{"a revision of -1", "manifest.targets[0].revision", func(m *settlementv1.Manifest) { m.Targets[0].Revision = new(int32(-1)) }},
	{"the last revision", "manifest.targets[0].revision", func(m *settlementv1.Manifest) { m.Targets[0].Revision = new(int32(1<<31 - 1)) }},
	{"no unit", "manifest.targets[0].taken_unit", func(m *settlementv1.Manifest) { m.Targets[0].TakenUnit = 0 }},
	{"an unknown unit", "manifest.targets[0].taken_unit", func(m *settlementv1.Manifest) { m.Targets[0].TakenUnit = 9 }},
	{"no amount", "manifest.targets[0].taken", func(m *settlementv1.Manifest) { m.Targets[0].Taken = nil }},
	{"an amount of -1", "manifest.targets[0].taken", func(m *settlementv1.Manifest) { m.Targets[0].Taken = new(int64(-1)) }},
	{"an amount of 10^15 + 1", "manifest.targets[0].taken", func(m *settlementv1.Manifest) { m.Targets[0].Taken = new(int64(1e15 + 1)) }},
	{"two free attempts", "manifest.targets[0].taken", func(m *settlementv1.Manifest) {
		m.Targets[0].TakenUnit, m.Targets[0].Taken = settlementv1.Unit_UNIT_FREE_ATTEMPTS, new(int64(2))
	}},
}

func manyIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strings.Repeat("r", 1+i%3) + "-" + string(rune('a'+i%26)) + strings.Repeat("x", i/78)
	}
	return ids
}

// A malformed manifest is refused with the field to blame before anything is written, by every call that takes one.
func TestManifestThatIsMalformedIsRefused(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	before := f.Copy(t)
	for _, c := range malformed {
		m := untouched("j1", 1, f.ids...)
		c.change(m)
		_, err := f.Jobs.RegisterJob(t.Context(), registration(m))
		t.Run("register "+c.name, func(t *testing.T) { invalid(t, err, c.field) })
		_, err = f.Jobs.PlanJob(t.Context(), dryRun(m))
		t.Run("plan "+c.name, func(t *testing.T) { invalid(t, err, c.field) })
	}
	_, err := f.Jobs.RegisterJob(t.Context(), &settlementv1.RegisterJobRequest{TenantId: apptest.Tenant, RegisteredBy: "ann"})
	invalid(t, err, "manifest")
	for _, name := range []string{"", strings.Repeat("n", 129), "ann\n"} {
		req := registration(untouched("j1", 1, f.ids...))
		req.RegisteredBy = name
		_, err := f.Jobs.RegisterJob(t.Context(), req)
		invalid(t, err, "registered_by")
	}
	f.Unchanged(t, before)
}

// What is just within the limits is taken as it is.
func TestManifestAtItsLimits(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	for name, m := range map[string]*settlementv1.Manifest{
		"64 targets, chunks of 10": untouched(strings.Repeat("j", 64), 10, manyIDs(64)...),
		"one target": {JobId: "-_A9z", Action: releaseJob, ChunkSize: 1, AllowPartial: true, Targets: []*settlementv1.Target{{
			ReservationId: "!~" + strings.Repeat("r", 126), Revision: new(int32(1<<31 - 2)), TakenUnit: settlementv1.Unit_UNIT_CREDITS, Taken: new(int64(1e15)),
		}}},
		"nothing taken": {JobId: "zero", Action: cancelJob, ChunkSize: 1, AllowPartial: true, Targets: []*settlementv1.Target{{
			ReservationId: "r", Revision: new(int32(0)), TakenUnit: settlementv1.Unit_UNIT_CREDITS, Taken: new(int64(0)),
		}}},
		"a free attempt": {JobId: "free", Action: cancelJob, ChunkSize: 1, AllowPartial: true, Targets: []*settlementv1.Target{{
			ReservationId: "r", Revision: new(int32(0)), TakenUnit: settlementv1.Unit_UNIT_FREE_ATTEMPTS, Taken: new(int64(1)),
		}}},
	} {
		if job := f.register(t, m).GetJob(); int(job.GetTotal()) != len(m.Targets) || job.GetNextIndex() != 0 || !job.GetAllowPartial() {
			t.Errorf("%s: %v", name, job)
		}
		if r := f.report(t, m.GetJobId()); len(r.GetRemaining()) != len(m.Targets) {
			t.Errorf("%s: the report is %v", name, r)
		}
	}
	f.Verify(t)
}

// The settings bound what is registered from now on, and nothing that is stored.
func TestManifestIsJudgedByTheSettingsOnceOnly(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 70, func(c *app.Config) { c.JobTargetsMax, c.JobChunkMax = 70, 70 })
	f.approved(t, untouched("large", 70, f.ids...))
	small := &fleet{Service: apptest.On(t, f.DB), ids: f.ids}
	_, err := small.Jobs.RegisterJob(t.Context(), registration(untouched("another", 70, f.ids...)))
	invalid(t, err, "manifest.chunk_size")
	if c := small.run(t, "large"); len(c.GetProcessed()) != 70 || !c.GetDone() {
		t.Errorf("the stored job did %v", c)
	}
	small.wantPrefix(t, "large", 70)
	small.Verify(t)
}

// The largest list of the longest ids goes through every call, and what comes back is within the size that the calls name.
func TestManifestOfTheCeiling(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0, func(c *app.Config) { c.JobTargetsMax, c.JobChunkMax = 10_000, 1000 })
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("%0128d", i)
	}
	m := untouched("j1", 1000, ids...)
	f.approved(t, m)
	large := grpc.MaxCallRecvMsgSize(16 << 20)
	if p, err := f.Jobs.PlanJob(t.Context(), dryRun(m), large); err != nil || p.GetTotals().GetMismatches() != 10_000 {
		t.Errorf("plan: %v, %v", p.GetTotals(), err)
	}
	if j, err := f.Jobs.GetJob(t.Context(), &settlementv1.GetJobRequest{TenantId: apptest.Tenant, JobId: "j1"}, large); err != nil || len(j.GetTargets()) != 10_000 {
		t.Errorf("get: %v", err)
	}
	if r, err := f.Jobs.ReportJob(t.Context(), &settlementv1.ReportJobRequest{TenantId: apptest.Tenant, JobId: "j1"}, large); err != nil || len(r.GetRemaining()) != 10_000 {
		t.Errorf("report: %v", err)
	}
	_, err := f.Jobs.RunChunk(t.Context(), runOf("j1"))
	conflict(t, err, "j1", ids[0], "MISSING")
	f.Verify(t)
}

// Targets are kept in the order of their ids, byte for byte; what the caller sent stays as it was, and has no part in what is stored.
func TestManifestIsNormalised(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	m := untouched("j1", 2, "b", "B", "a", "Z", "_", "~", "10", "9", "b1")
	sent := proto.CloneOf(m)
	f.register(t, m)
	if diff := cmp.Diff(sent, m, protocmp.Transform()); diff != "" {
		t.Errorf("the request changed: %s", diff)
	}
	var ids []string
	for _, target := range f.job(t, "j1").GetTargets() {
		ids = append(ids, target.GetReservationId())
	}
	if want := []string{"10", "9", "B", "Z", "_", "a", "b", "b1", "~"}; !slices.Equal(ids, want) {
		t.Errorf("the order is %q, want %q", ids, want)
	}
}

// The hash is of the normalised content: the order of the targets makes none, everything else does.
func TestManifestHashIsOfItsContent(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	hash := func(m *settlementv1.Manifest) string {
		resp, err := f.Jobs.PlanJob(t.Context(), dryRun(m))
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetManifestHash()
	}
	m := untouched("j1", 2, f.ids...)
	first := hash(m)
	slices.Reverse(m.Targets)
	if h := hash(m); h != first {
		t.Errorf("the order of the targets changes the hash")
	}
	if h := f.register(t, m).GetJob().GetManifestHash(); h != first {
		t.Errorf("the plan's hash is %s, the job's %s", first, h)
	}
	for name, change := range map[string]func(*settlementv1.Manifest){
		"job":      func(m *settlementv1.Manifest) { m.JobId = "j2" },
		"action":   func(m *settlementv1.Manifest) { m.Action = releaseJob },
		"chunk":    func(m *settlementv1.Manifest) { m.ChunkSize = 1 },
		"target":   func(m *settlementv1.Manifest) { m.Targets = m.Targets[1:] },
		"id":       func(m *settlementv1.Manifest) { m.Targets[0].ReservationId = "another" },
		"revision": func(m *settlementv1.Manifest) { m.Targets[0].Revision = new(int32(1)) },
		"amount":   func(m *settlementv1.Manifest) { m.Targets[0].Taken = new(int64(11)) },
		"unit": func(m *settlementv1.Manifest) {
			m.Targets[0].TakenUnit, m.Targets[0].Taken = settlementv1.Unit_UNIT_FREE_ATTEMPTS, new(int64(1))
		},
	} {
		other := proto.CloneOf(m)
		change(other)
		if hash(other) == first {
			t.Errorf("another %s has the same hash", name)
		}
	}
}

func TestManifestOfAnUnknownTenant(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	req := registration(untouched("j1", 1, "r"))
	req.TenantId = "nobody"
	_, err := f.Jobs.RegisterJob(t.Context(), req)
	if m := failure(t, err, codes.NotFound, "NOT_FOUND").GetMetadata(); m["field"] != "tenant_id" {
		t.Errorf("%v", err)
	}
}

func dryRun(m *settlementv1.Manifest) *settlementv1.PlanJobRequest {
	return &settlementv1.PlanJobRequest{TenantId: apptest.Tenant, Subject: &settlementv1.PlanJobRequest_Manifest{Manifest: m}}
}
