package cases_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

const (
	cancelling = settlementv1.JobAction_JOB_ACTION_CANCEL
	releasing  = settlementv1.JobAction_JOB_ACTION_RELEASE_CUSTOMER
)

// plan has a job proposed. Its chunks are of so many reservations.
func plan(t *testing.T, s *apptest.Service, job string, action settlementv1.JobAction, chunk int32) *settlementv1.PlanJobResponse {
	t.Helper()
	before := s.Copy(t)
	p, err := s.Jobs.PlanJob(t.Context(), &settlementv1.PlanJobRequest{TenantId: apptest.Tenant, Subject: &settlementv1.PlanJobRequest_Search{
		Search: &settlementv1.JobSearch{JobId: job, Action: action, ChunkSize: &chunk},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Unchanged(t, before)
	return p
}

// proposed are the reservations of a plan.
func proposed(p *settlementv1.PlanJobResponse) []string {
	var ids []string
	for _, target := range p.GetTargets() {
		ids = append(ids, target.GetTarget().GetReservationId())
	}
	return ids
}

// notProposed tells for each reservation that a plan left out what was in its way.
func notProposed(p *settlementv1.PlanJobResponse) map[string]string {
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

func registering(m *settlementv1.Manifest) *settlementv1.RegisterJobRequest {
	return &settlementv1.RegisterJobRequest{TenantId: apptest.Tenant, Manifest: m, RegisteredBy: "ann"}
}

// approve registers a manifest, and approves it.
func approve(t *testing.T, s *apptest.Service, m *settlementv1.Manifest) {
	t.Helper()
	registered, err := s.Jobs.RegisterJob(t.Context(), registering(m))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Jobs.ApproveJob(t.Context(), &settlementv1.ApproveJobRequest{
		TenantId: apptest.Tenant, JobId: m.GetJobId(), ManifestHash: registered.GetJob().GetManifestHash(), ApprovedBy: "bob",
	})
	if err != nil {
		t.Fatal(err)
	}
}

func runChunk(t *testing.T, s *apptest.Service, job string) (*settlementv1.Chunk, error) {
	t.Helper()
	resp, err := s.Jobs.RunChunk(t.Context(), &settlementv1.RunChunkRequest{TenantId: apptest.Tenant, JobId: job})
	return resp.GetChunk(), err
}

// drainJob runs a job, and returns what it says that it changed.
func drainJob(t *testing.T, s *apptest.Service, job string) (changed []string, err error) {
	t.Helper()
	stream, err := s.Jobs.DrainJob(t.Context(), &settlementv1.DrainJobRequest{TenantId: apptest.Tenant, JobId: job, MaxChunks: 64})
	for err == nil {
		var m *settlementv1.DrainJobResponse
		if m, err = stream.Recv(); m.GetSummary() != nil {
			return changed, nil
		}
		for _, p := range m.GetChunk().GetProcessed() {
			changed = append(changed, p.GetReservationId())
		}
	}
	return changed, err
}

// wantConflict wants a chunk to have stopped at a reservation that is not as it was approved.
func wantConflict(t *testing.T, err error, reservation, what string) {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetReason() == "JOB_CONFLICT" {
			if m := info.GetMetadata(); m["reservation_id"] != reservation || m["what"] != what {
				t.Errorf("the conflict is %v, want %s of %s", m, what, reservation)
			}
			return
		}
	}
	t.Errorf("%v is no conflict", err)
}

// wantAudit wants a job to have changed exactly these, once each: in its audit, in its progress, in the ledger and in the reservations.
func wantAudit(t *testing.T, s *apptest.Service, job string, ids []string, end settlementv1.OutcomeKind) {
	t.Helper()
	ids = slices.Clone(ids) // sorted as the audit is
	audit := postgrestest.Value[[]string](s.DB, `SELECT coalesce(array_agg(reservation_id ORDER BY ordinal), '{}') FROM job_audit
		WHERE tenant_id = $1 AND job_id = $2`, apptest.Tenant, job)
	entries := postgrestest.Value[[]string](s.DB, `SELECT coalesce(array_agg(reservation_id ORDER BY reservation_id), '{}') FROM entries
		WHERE tenant_id = $1 AND detail ->> 'job_id' = $2`, apptest.Tenant, job)
	if !slices.Equal(audit, ids) || !slices.Equal(entries, ids) {
		t.Errorf("the audit of %s is %q, its entries %q, want %q", job, audit, entries, ids)
	}
	got, err := s.Jobs.GetJob(t.Context(), &settlementv1.GetJobRequest{TenantId: apptest.Tenant, JobId: job})
	if err != nil {
		t.Fatal(err)
	}
	is(t, "next_index", int(got.GetJob().GetNextIndex()), len(ids))
	for _, id := range ids {
		wantEnd(t, s.Get(t, id), end)
	}
}

func wantExists(t *testing.T, err error, field string) {
	t.Helper()
	wantCode(t, "register", err, codes.AlreadyExists)
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetMetadata()["field"] == field {
			return
		}
	}
	t.Errorf("%v does not name %s", err, field)
}
