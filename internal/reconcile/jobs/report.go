package jobs

import (
	"context"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/reconcile/jobs/jobdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// ReportJob compares what a job did with what its reservations are now. What changed since is told, and never touched.
func (s *Server) ReportJob(ctx context.Context, req *settlementv1.ReportJobRequest) (*settlementv1.ReportJobResponse, error) {
	r, err := s.store.Report(ctx, ledger.TenantID(req.GetTenantId()), ledger.JobID(req.GetJobId()))
	if err != nil {
		return nil, err
	}
	m := &settlementv1.ReportJobResponse{Job: respondJob(&r.Job), Approved: respondTargets(r.Job.Targets)}
	errand := ledger.Errand{Job: r.Job.Job, Action: r.Job.Action}
	for i, t := range r.Job.Targets {
		id := string(t.Reservation)
		if i >= r.Job.NextIndex {
			m.Remaining = append(m.Remaining, id)
			continue
		}
		m.Committed = append(m.Committed, id)
		found := &r.Found[i]
		drift := errand.Drift(t, &found.Now)
		switch {
		case !found.Exists:
			m.Missing = append(m.Missing, id)
		case len(drift) == 0:
			m.Matching = append(m.Matching, id)
		default:
			m.Drifted = append(m.Drifted, respondDrift(id, drift, found))
		}
	}
	return m, nil
}

func respondDrift(id string, drift []ledger.Difference, found *jobdb.Found) *settlementv1.DriftedTarget {
	m := &settlementv1.DriftedTarget{ReservationId: id, Differences: respondDifferences(drift)}
	for _, e := range found.Since {
		m.LaterEvents = append(m.LaterEvents, wire.Events.Enum(e))
	}
	return m
}
