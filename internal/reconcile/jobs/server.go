// Package jobs repairs many reservations at once: a fixed list that somebody approved is worked off in chunks, each one transaction with its
// audit and its checkpoint, so that a job goes on where it stopped, whoever dies on the way.
//
//	PlanJob ──► RegisterJob ──► ApproveJob ──► RunChunk … RunChunk ──► done
//	(nothing)    REGISTERED      APPROVED      each commits or is gone    DONE
//
// A chunk that meets a reservation which is not as it was approved changes nothing: the conflict names it, and earlier chunks stay.
package jobs

import (
	"context"
	"fmt"
	"log/slog"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/reconcile/jobs/jobdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// Config is what an operator decides about jobs.
type Config struct {
	Limits                ledger.Limits // of manifests that are registered from now on
	RequireSecondApprover bool          // who registered a job may not approve it
	Stopping              <-chan struct{}
	Fault                 Fault // nil outside of tests
	Log                   *slog.Logger
}

// Server answers the ReconciliationJobService.
type Server struct {
	settlementv1.UnimplementedReconciliationJobServiceServer
	store  *jobdb.Store
	reader *ledgerdb.Reader
	config Config
}

// New makes the service.
func New(store *jobdb.Store, reader *ledgerdb.Reader, config Config) *Server {
	return &Server{store: store, reader: reader, config: config}
}

// RegisterJob stores a manifest, once. What stands under its id stays, progress least of all changes.
func (s *Server) RegisterJob(ctx context.Context, req *settlementv1.RegisterJobRequest) (*settlementv1.RegisterJobResponse, error) {
	m, err := parseManifest(req.GetManifest()).Normalise(s.config.Limits)
	if err != nil {
		return nil, err
	}
	job, isNew, err := s.store.Register(ctx, ledger.TenantID(req.GetTenantId()), m, req.GetRegisteredBy())
	if err != nil {
		return nil, err
	}
	if field := m.Differs(&job.Manifest); field != "" {
		return nil, &ledger.Error{Kind: ledger.AlreadyExists, Field: field, Message: fmt.Sprintf("job %s stands with other content", m.Job)}
	}
	return &settlementv1.RegisterJobResponse{Job: respondJob(&job), Replayed: !isNew}, nil
}

// ApproveJob lets a job run. Who approves shows by the hash which manifest was seen.
func (s *Server) ApproveJob(ctx context.Context, req *settlementv1.ApproveJobRequest) (*settlementv1.ApproveJobResponse, error) {
	tenant, id := ledger.TenantID(req.GetTenantId()), ledger.JobID(req.GetJobId())
	job, isNew, err := s.store.Approve(ctx, tenant, id, req.GetApprovedBy(), func(j *jobdb.Job) error {
		switch {
		case j.Hash != req.GetManifestHash():
			return precondition("manifest_hash", "the manifest of job %s has another hash", id)
		case s.config.RequireSecondApprover && j.RegisteredBy == req.GetApprovedBy():
			return precondition("approved_by", "job %s must be approved by somebody else than who registered it", id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &settlementv1.ApproveJobResponse{Job: respondJob(&job), Replayed: !isNew}, nil
}

// GetJob shows a job with its targets.
func (s *Server) GetJob(ctx context.Context, req *settlementv1.GetJobRequest) (*settlementv1.GetJobResponse, error) {
	job, err := s.store.Job(ctx, ledger.TenantID(req.GetTenantId()), ledger.JobID(req.GetJobId()))
	if err != nil {
		return nil, err
	}
	return &settlementv1.GetJobResponse{Job: respondJob(&job), Targets: respondTargets(job.Targets)}, nil
}

// ListJobs lists a tenant's jobs, the oldest first.
func (s *Server) ListJobs(ctx context.Context, req *settlementv1.ListJobsRequest) (*settlementv1.ListJobsResponse, error) {
	at, id, err := wire.ParsePageToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	var states []jobdb.State
	for _, state := range req.GetStates() {
		states = append(states, jobdb.State(wire.JobStates.Word(state)))
	}
	tenant, page := ledger.TenantID(req.GetTenantId()), ledgerdb.Page{After: ledgerdb.Cursor{At: at, ID: id}, Size: wire.PageSize(req.PageSize)}
	jobs, err := s.store.Jobs(ctx, tenant, states, page)
	if err == nil && len(jobs) == 0 {
		err = s.reader.RequireTenant(ctx, tenant)
	}
	if err != nil {
		return nil, err
	}
	m := &settlementv1.ListJobsResponse{}
	for i := range jobs {
		m.Jobs = append(m.Jobs, respondJob(&jobs[i]))
	}
	if len(jobs) == page.Size {
		last := &jobs[len(jobs)-1]
		m.NextPageToken = wire.PageToken(last.RegisteredAt, string(last.Job))
	}
	return m, nil
}

func precondition(field, format string, args ...any) error {
	return &ledger.Error{Kind: ledger.Precondition, Field: field, Message: fmt.Sprintf(format, args...)}
}
