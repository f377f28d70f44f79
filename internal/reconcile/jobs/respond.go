package jobs

import (
	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/reconcile/jobs/jobdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

func respondJob(j *jobdb.Job) *settlementv1.Job {
	return &settlementv1.Job{
		JobId: string(j.Job), Action: wire.JobActions.Enum(j.Action), ChunkSize: int32(j.ChunkSize), AllowPartial: true, ManifestHash: j.Hash,
		State: wire.JobStates.Enum(string(j.State())), Total: int32(j.Total), NextIndex: int32(j.NextIndex),
		RegisteredBy: j.RegisteredBy, RegisteredAt: wire.Time(j.RegisteredAt), ApprovedBy: j.ApprovedBy, ApprovedAt: wire.Time(j.ApprovedAt),
		ProgressedAt: wire.Time(j.ProgressedAt),
	}
}

func respondTarget(t *ledger.Target) *settlementv1.Target {
	return &settlementv1.Target{
		ReservationId: string(t.Reservation), Revision: &t.Revision, TakenUnit: wire.Units.Enum(t.Taken.Unit), Taken: (*int64)(&t.Taken.Amount),
	}
}

func respondTargets(targets []ledger.Target) []*settlementv1.Target {
	return each(targets, respondTarget)
}

func respondProcessed(processed []ledger.Processed) []*settlementv1.ProcessedTarget {
	return each(processed, func(p *ledger.Processed) *settlementv1.ProcessedTarget {
		return &settlementv1.ProcessedTarget{
			ReservationId: string(p.Reservation), PreviousRevision: p.Revision, NewRevision: p.NewRevision,
			TakenUnit: wire.Units.Enum(p.Taken.Unit), Taken: int64(p.Taken.Amount),
		}
	})
}

func respondChunk(c *chunk) *settlementv1.Chunk {
	return &settlementv1.Chunk{Processed: respondProcessed(c.processed), NextIndex: int32(c.next), Done: c.done}
}

func respondDifferences(differences []ledger.Difference) []*settlementv1.Difference {
	return each(differences, func(d *ledger.Difference) *settlementv1.Difference {
		return &settlementv1.Difference{What: wire.Mismatches.Enum(d.What), Expected: d.Expected, Found: d.Found}
	})
}

func respondPlan(tenant ledger.TenantID, p *plan) *settlementv1.PlanJobResponse {
	m := &settlementv1.PlanJobResponse{
		Manifest: &settlementv1.Manifest{
			JobId: string(p.manifest.Job), Action: wire.JobActions.Enum(p.manifest.Action), Targets: respondTargets(p.manifest.Targets),
			ChunkSize: int32(p.manifest.ChunkSize), AllowPartial: true,
		},
		Totals: p.totals(), More: p.more,
		Targets: each(p.lines, func(l *line) *settlementv1.PlannedTarget { return l.planned(p.manifest.Action) }),
		LeftOut: each(p.leftOut, func(l *line) *settlementv1.LeftOut {
			return &settlementv1.LeftOut{
				ReservationId: string(l.target.Reservation), Deadline: wire.Time(l.view.Deadline), Differences: respondDifferences(l.differences),
			}
		}),
	}
	if len(p.lines) > 0 {
		m.ManifestHash = p.manifest.Hash(tenant)
	}
	return m
}

func (l *line) planned(a ledger.JobAction) *settlementv1.PlannedTarget {
	m := &settlementv1.PlannedTarget{Target: respondTarget(&l.target), Differences: respondDifferences(l.differences)}
	if l.view != nil {
		m.AccountId, m.ProviderId = string(l.view.Asked.Account), string(l.view.Asked.Provider)
		m.State, m.Deadline = wire.States.Enum(l.view.State), wire.Time(l.view.Deadline)
	}
	if len(l.differences) == 0 {
		m.Reason = a.Reason(l.view)
	}
	return m
}

// totals adds up what goes back to customers.
func (p *plan) totals() *settlementv1.PlanTotals {
	n, size := len(p.lines), p.manifest.ChunkSize
	t := &settlementv1.PlanTotals{Targets: int32(n), Chunks: int32((n + size - 1) / size)}
	for _, l := range p.lines {
		switch {
		case len(l.differences) > 0:
			t.Mismatches++
		case l.target.Taken.Unit == ledger.FreeAttempts:
			t.FreeAttempts += int64(l.target.Taken.Amount)
		default:
			t.Credits += int64(l.target.Taken.Amount)
		}
	}
	return t
}

// each turns every value of a slice into its message.
func each[V, M any](values []V, message func(*V) *M) []*M {
	messages := make([]*M, len(values))
	for i := range values {
		messages[i] = message(&values[i])
	}
	return messages
}
