package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

const (
	cancelJob  = settlementv1.JobAction_JOB_ACTION_CANCEL
	releaseJob = settlementv1.JobAction_JOB_ACTION_RELEASE_CUSTOMER

	cancelled = settlementv1.ReservationState_RESERVATION_STATE_CANCELLED
	pending   = settlementv1.ReservationState_RESERVATION_STATE_PENDING
)

// fleet is a running service with many pending reservations of 10 credits each.
type fleet struct {
	*apptest.Service
	ids []string
}

func newFleet(t testing.TB, n int, change ...func(*app.Config)) *fleet {
	t.Helper()
	f := &fleet{Service: apptest.New(t, change...)}
	f.Seed(t, func(p *settlementv1.PutProviderRequest) { p.BudgetLimitMicros = 1_000_000_000 })
	ctx := t.Context()
	if _, err := f.Accounts.PutAccount(ctx, &settlementv1.PutAccountRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: 1_000_000}); err != nil {
		t.Fatal(err)
	}
	grant := &settlementv1.GrantCreditsRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: "fleet", Credits: 1_000_000}
	if _, err := f.Accounts.GrantCredits(ctx, grant); err != nil {
		t.Fatal(err)
	}
	f.reserve(t, n)
	return f
}

// reserve adds so many pending reservations, many at a time. Their ids sort as they are made.
func (f *fleet) reserve(t testing.TB, n int) {
	t.Helper()
	next := make(chan string)
	var wg sync.WaitGroup
	for range min(n, 32) {
		wg.Go(func() {
			for id := range next {
				if resp, err := f.Reservations.Reserve(t.Context(), apptest.Reserve(id, "")); err != nil || resp.GetGranted() == nil {
					t.Errorf("reserve %s: %v, %v", id, resp, err)
				}
			}
		})
	}
	for range n {
		id := fmt.Sprintf("r%05d", len(f.ids))
		f.ids = append(f.ids, id)
		next <- id
	}
	close(next)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// target is a reservation as it is now.
func (f *fleet) target(t testing.TB, id string) *settlementv1.Target {
	t.Helper()
	r := f.Get(t, id)
	return &settlementv1.Target{
		ReservationId: id, Revision: new(r.GetRevision()), TakenUnit: r.GetCredit().GetTakenUnit(), Taken: new(r.GetCredit().GetTaken()),
	}
}

// manifest is a list of reservations as they are now; all of the fleet where none is named.
func (f *fleet) manifest(t testing.TB, job string, chunk int32, ids ...string) *settlementv1.Manifest {
	t.Helper()
	if len(ids) == 0 {
		ids = f.ids
	}
	m := &settlementv1.Manifest{JobId: job, Action: cancelJob, ChunkSize: chunk, AllowPartial: true}
	for _, id := range ids {
		m.Targets = append(m.Targets, f.target(t, id))
	}
	return m
}

// untouched is a manifest of reservations to which nothing has happened, without a look at them.
func untouched(job string, chunk int32, ids ...string) *settlementv1.Manifest {
	m := &settlementv1.Manifest{JobId: job, Action: cancelJob, ChunkSize: chunk, AllowPartial: true}
	for _, id := range ids {
		m.Targets = append(m.Targets, &settlementv1.Target{
			ReservationId: id, Revision: new(int32(0)), TakenUnit: settlementv1.Unit_UNIT_CREDITS, Taken: new(int64(10)),
		})
	}
	return m
}

func registration(m *settlementv1.Manifest) *settlementv1.RegisterJobRequest {
	return &settlementv1.RegisterJobRequest{TenantId: apptest.Tenant, Manifest: m, RegisteredBy: "ann"}
}

func (f *fleet) register(t testing.TB, m *settlementv1.Manifest) *settlementv1.RegisterJobResponse {
	t.Helper()
	resp, err := f.Jobs.RegisterJob(t.Context(), registration(m))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func approval(job *settlementv1.Job, by string) *settlementv1.ApproveJobRequest {
	return &settlementv1.ApproveJobRequest{TenantId: apptest.Tenant, JobId: job.GetJobId(), ManifestHash: job.GetManifestHash(), ApprovedBy: by}
}

// approved registers a manifest and approves it.
func (f *fleet) approved(t testing.TB, m *settlementv1.Manifest) {
	t.Helper()
	if _, err := f.Jobs.ApproveJob(t.Context(), approval(f.register(t, m).GetJob(), "bob")); err != nil {
		t.Fatal(err)
	}
}

func runOf(job string) *settlementv1.RunChunkRequest {
	return &settlementv1.RunChunkRequest{TenantId: apptest.Tenant, JobId: job}
}

func (f *fleet) run(t testing.TB, job string) *settlementv1.Chunk {
	t.Helper()
	resp, err := f.Jobs.RunChunk(t.Context(), runOf(job))
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetChunk()
}

func (f *fleet) job(t testing.TB, id string) *settlementv1.GetJobResponse {
	t.Helper()
	resp, err := f.Jobs.GetJob(t.Context(), &settlementv1.GetJobRequest{TenantId: apptest.Tenant, JobId: id})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func (f *fleet) report(t testing.TB, id string) *settlementv1.ReportJobResponse {
	t.Helper()
	resp, err := f.Jobs.ReportJob(t.Context(), &settlementv1.ReportJobRequest{TenantId: apptest.Tenant, JobId: id})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// drain runs a job to its end, or as far as maxChunks go, and returns the chunks and the summary.
func drain(ctx context.Context, s *apptest.Service, id string, maxChunks int32) (chunks []*settlementv1.Chunk, sum *settlementv1.DrainSummary, err error) {
	stream, err := s.Jobs.DrainJob(ctx, &settlementv1.DrainJobRequest{TenantId: apptest.Tenant, JobId: id, MaxChunks: maxChunks})
	for err == nil {
		var m *settlementv1.DrainJobResponse
		if m, err = stream.Recv(); err != nil {
			break
		}
		if c := m.GetChunk(); c != nil {
			chunks = append(chunks, c)
			continue
		}
		return chunks, m.GetSummary(), nil
	}
	return chunks, nil, err
}

// idsOf are the reservations of what was processed.
func idsOf(processed []*settlementv1.ProcessedTarget) []string {
	var ids []string
	for _, p := range processed {
		ids = append(ids, p.GetReservationId())
	}
	return ids
}

// auditRows reads a job's audit behind the service's back, each row as a text.
func auditRows(db *postgrestest.DB, job string) []string {
	return postgrestest.Value[[]string](db, `SELECT coalesce(array_agg(format('%s %s %s->%s %s %s', ordinal, reservation_id, previous_revision, new_revision,
		taken_unit, taken_amount) ORDER BY ordinal), '{}') FROM job_audit WHERE tenant_id = $1 AND job_id = $2`, apptest.Tenant, job)
}

// wantPrefix finds in the audit exactly the first n targets of the manifest, in the job a checkpoint behind them, and in the ledger exactly
// their ends: each of them changed once, and nothing else by a job.
func (f *fleet) wantPrefix(t testing.TB, job string, n int) {
	t.Helper()
	got := f.job(t, job)
	var want, ends []string
	for i, target := range got.GetTargets()[:n] {
		want = append(want, fmt.Sprintf("%d %s %d->%d %s %d", i, target.GetReservationId(), target.GetRevision(), target.GetRevision()+1,
			target.GetTakenUnit().String()[len("UNIT_"):], target.GetTaken()))
		ends = append(ends, target.GetReservationId())
	}
	if rows := auditRows(f.DB, job); !slices.Equal(rows, want) {
		t.Errorf("the audit of %s is\n%q\nwant\n%q", job, rows, want)
	}
	if next := int(got.GetJob().GetNextIndex()); next != n {
		t.Errorf("next_index is %d, want %d", next, n)
	}
	ended := postgrestest.Value[[]string](f.DB, `SELECT coalesce(array_agg(reservation_id ORDER BY reservation_id), '{}')
		FROM entries WHERE tenant_id = $1 AND detail ->> 'job_id' = $2`, apptest.Tenant, job)
	if !slices.Equal(ended, ends) {
		t.Errorf("the ledger has ends of %q, want %q", ended, ends)
	}
}

// failure checks a status with its reason, and returns its details.
func failure(t testing.TB, err error, code codes.Code, reason string) *errdetails.ErrorInfo {
	t.Helper()
	s := status.Convert(err)
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && s.Code() == code && info.GetReason() == reason {
			return info
		}
	}
	t.Fatalf("%v instead of %v %s", err, code, reason)
	return nil
}

// conflict checks that a chunk met a reservation that is not as approved, and which, and in what.
func conflict(t testing.TB, err error, job, reservation, what string) {
	t.Helper()
	m := failure(t, err, codes.FailedPrecondition, "JOB_CONFLICT").GetMetadata()
	if m["job_id"] != job || m["reservation_id"] != reservation || m["what"] != what {
		t.Errorf("the conflict is %v, want job %s, reservation %s, %s", m, job, reservation, what)
	}
}

// invalid checks that a request was refused for one of its fields.
func invalid(t testing.TB, err error, field string) {
	t.Helper()
	if info := failure(t, err, codes.InvalidArgument, "INVALID_ARGUMENT"); info.GetMetadata()["field"] != field {
		t.Errorf("the field to blame is %q, want %q: %v", info.GetMetadata()["field"], field, err)
	}
}
