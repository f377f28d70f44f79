package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// repairJob is the reconciliation job that releases the fleet.
const repairJob = "release-stuck-fleet"

// approve waits until a plan proposes exactly the jobs that are stuck, and has it registered and approved.
func (f *fleet) approve(ctx context.Context) error {
	jobs := f.clients.jobs
	var plan *settlementv1.PlanJobResponse
	err := await(ctx, "a plan for the whole fleet", func(ctx context.Context) (_ bool, err error) {
		plan, err = jobs.PlanJob(ctx, &settlementv1.PlanJobRequest{TenantId: Tenant, Subject: &settlementv1.PlanJobRequest_Search{
			Search: &settlementv1.JobSearch{
				JobId: repairJob, Action: settlementv1.JobAction_JOB_ACTION_RELEASE_CUSTOMER, ChunkSize: new(int32(fleetChunk)),
				DeadlineMarginSeconds: new(int64(10)), AccountId: &f.scenario.name,
			},
		}})
		return len(plan.GetTargets()) >= fleetSize, err
	})
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if got := targets(plan.GetManifest().GetTargets()); !slices.Equal(got, f.stuck) {
		return fmt.Errorf("the plan proposes %q, want %q", got, f.stuck)
	}
	if _, err = jobs.RegisterJob(ctx, &settlementv1.RegisterJobRequest{
		TenantId: Tenant, Manifest: plan.GetManifest(), RegisteredBy: "an operator",
	}); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	if _, err = jobs.ApproveJob(ctx, &settlementv1.ApproveJobRequest{
		TenantId: Tenant, JobId: repairJob, ManifestHash: plan.GetManifestHash(), ApprovedBy: "another operator",
	}); err != nil {
		return fmt.Errorf("approve: %w", err)
	}
	return nil
}

func targets(all []*settlementv1.Target) (ids []string) {
	for _, t := range all {
		ids = append(ids, t.GetReservationId())
	}
	return ids
}

// drainKilled has another process drain, and kills it after its first chunk, which stands.
func (f *fleet) drainKilled(ctx context.Context) error {
	arguments := DrainerOptions{Service: f.stage.config.Service, Job: repairJob}.arguments()
	if err := f.launch(ctx, f.stage.config.Drainer, arguments, saidChunk(fleetChunk)); err != nil {
		return err
	}
	if err := f.progress(ctx, fleetChunk); err != nil {
		return err
	}
	if err := killed(ctx, f.job); err != nil {
		return err
	}
	return f.progress(ctx, fleetChunk)
}

// progress reads how far the reconciliation job is.
func (f *fleet) progress(ctx context.Context, want int32) error {
	a, err := f.clients.jobs.GetJob(ctx, &settlementv1.GetJobRequest{TenantId: Tenant, JobId: repairJob})
	if err != nil {
		return fmt.Errorf("get job: %w", err)
	}
	if got := a.GetJob().GetNextIndex(); got != want {
		return fmt.Errorf("%d of the fleet are done, want %d", got, want)
	}
	return nil
}

// drainRest drains what the killed process has left, and nothing else.
func (f *fleet) drainRest(ctx context.Context) error {
	sum, err := f.clients.drain(ctx, repairJob, 64)
	if err != nil {
		return err
	}
	var processed []string
	for _, p := range sum.GetProcessed() {
		processed = append(processed, p.GetReservationId())
	}
	if !sum.GetDone() || !slices.Equal(processed, f.stuck[fleetChunk:]) {
		return fmt.Errorf("the second drain: %v, want %q", sum, f.stuck[fleetChunk:])
	}
	return f.progress(ctx, fleetSize)
}

// reported compares what the job did with what the fleet is now.
func (f *fleet) reported(ctx context.Context) error {
	r, err := f.clients.jobs.ReportJob(ctx, &settlementv1.ReportJobRequest{TenantId: Tenant, JobId: repairJob})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if !slices.Equal(targets(r.GetApproved()), f.stuck) || !slices.Equal(r.GetMatching(), f.stuck) ||
		len(r.GetRemaining())+len(r.GetDrifted())+len(r.GetMissing()) > 0 {
		return fmt.Errorf("report: %v, want all of %d matching", r, fleetSize)
	}
	return nil
}

// drain runs chunks and returns the summary.
func (c *clients) drain(ctx context.Context, job string, chunks int32) (*settlementv1.DrainSummary, error) {
	stream, err := c.jobs.DrainJob(ctx, &settlementv1.DrainJobRequest{TenantId: Tenant, JobId: job, MaxChunks: chunks})
	if err != nil {
		return nil, fmt.Errorf("drain: %w", err)
	}
	var sum *settlementv1.DrainSummary
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && sum != nil:
			return sum, nil
		case err != nil:
			return nil, fmt.Errorf("drain: %w", err)
		}
		sum = m.GetSummary()
	}
}

// DrainerOptions are the flags of a drain in a process of its own.
type DrainerOptions struct {
	Service string `required:"" help:"Address of the service."`
	Job     string `required:"" help:"The reconciliation job."`
}

func (o DrainerOptions) arguments() []string {
	return []string{"--service=" + o.Service, "--job=" + o.Job}
}

// saidChunk is what a drain says after a chunk.
func saidChunk(done int32) string { return fmt.Sprintf("%d done", done) }

// RunDrainer drains a job chunk by chunk. After each it says how far it is and waits for a line, and it ends when there is nobody left to
// write one.
func RunDrainer(ctx context.Context, o DrainerOptions, in io.Reader, out io.Writer) error {
	c, err := dial(o.Service)
	if err != nil {
		return err
	}
	defer func() { _ = c.conn.Close() }()
	lines := bufio.NewReader(in)
	for {
		sum, err := c.drain(ctx, o.Job, 1)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, saidChunk(sum.GetNextIndex())); err != nil || sum.GetDone() {
			return err
		}
		if _, err := lines.ReadString('\n'); err != nil {
			return err
		}
	}
}
