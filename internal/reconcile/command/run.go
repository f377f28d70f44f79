package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// Run runs one chunk of a job. It is never tried again by itself.
func (s *Session) Run(ctx context.Context, job string) error {
	resp, err := call(ctx, settlementv1.NewReconciliationJobServiceClient(s.Conn).RunChunk, &settlementv1.RunChunkRequest{TenantId: s.Tenant, JobId: job})
	if err != nil {
		return err
	}
	if s.Output == JSON {
		return writeJSON(s.Out, resp)
	}
	c := resp.GetChunk()
	return s.show(processedTable(c.GetProcessed()), fmt.Sprintf("%s changed. %s", counted(int64(len(c.GetProcessed())), "reservation"), stands(c)))
}

// chunk is what tells how far a job has come.
type chunk interface {
	GetNextIndex() int32
	GetDone() bool
}

func stands(c chunk) string {
	if c.GetDone() {
		return good(fmt.Sprintf("All %d targets are done.", c.GetNextIndex()))
	}
	return fmt.Sprintf("%s done, and there are more.", counted(int64(c.GetNextIndex()), "target"))
}

func processedTable(processed []*settlementv1.ProcessedTarget) string {
	if len(processed) == 0 {
		return ""
	}
	t := newTable("reservation", "revision", "took back")
	for _, p := range processed {
		t.AppendRow(table.Row{
			p.GetReservationId(), fmt.Sprintf("%d → %d", p.GetPreviousRevision(), p.GetNewRevision()), taken(p.GetTakenUnit(), p.GetTaken()),
		})
	}
	return t.Render()
}

// Drain runs chunks until the job is done or as many have run as are allowed, and shows each as it is committed.
func (s *Session) Drain(ctx context.Context, job string, chunksMax int32) error {
	jobs := settlementv1.NewReconciliationJobServiceClient(s.Conn)
	stands, err := call(ctx, jobs.GetJob, &settlementv1.GetJobRequest{TenantId: s.Tenant, JobId: job})
	if err != nil {
		return err
	}
	stream, err := jobs.DrainJob(ctx, &settlementv1.DrainJobRequest{TenantId: s.Tenant, JobId: job, MaxChunks: chunksMax})
	if err != nil {
		return explain(err)
	}
	summary, err := s.follow(stream, s.progress("job "+job, "targets done", int64(stands.GetJob().GetTotal())))
	if err != nil {
		return explain(err)
	}
	if s.Output == JSON {
		return writeJSON(s.Out, summary)
	}
	return s.showDrain(summary)
}

// follow shows chunks until the summary comes.
func (s *Session) follow(stream settlementv1.ReconciliationJobService_DrainJobClient, p progress) (*settlementv1.DrainSummary, error) {
	defer p.end()
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errors.New("the server ended the drain without a summary")
		case err != nil:
			return nil, err
		case m.GetSummary() != nil:
			return m.GetSummary(), nil
		}
		p.at(int64(m.GetChunk().GetNextIndex()))
	}
}

func (s *Session) showDrain(d *settlementv1.DrainSummary) error {
	return s.show(processedTable(d.GetProcessed()), fmt.Sprintf("%s changed by %s. %s",
		counted(int64(len(d.GetProcessed())), "reservation"), counted(int64(d.GetCalls()), "call"), stands(d)))
}
