package command

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/text"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// Register stores a manifest.
func (s *Session) Register(ctx context.Context, m *settlementv1.Manifest, by string) error {
	resp, err := call(ctx, settlementv1.NewReconciliationJobServiceClient(s.Conn).RegisterJob, &settlementv1.RegisterJobRequest{
		TenantId: s.Tenant, Manifest: m, RegisteredBy: by,
	})
	if err != nil {
		return err
	}
	if s.Output == JSON {
		return writeJSON(s.Out, resp)
	}
	if resp.GetReplayed() {
		s.note("the job was registered before, with the same content")
	}
	return s.show(jobFacts(resp.GetJob()))
}

// Approve lets a job run.
func (s *Session) Approve(ctx context.Context, job, hash, by string) error {
	resp, err := call(ctx, settlementv1.NewReconciliationJobServiceClient(s.Conn).ApproveJob, &settlementv1.ApproveJobRequest{
		TenantId: s.Tenant, JobId: job, ManifestHash: hash, ApprovedBy: by,
	})
	if err != nil {
		return err
	}
	if s.Output == JSON {
		return writeJSON(s.Out, resp)
	}
	if resp.GetReplayed() {
		s.note("the job was approved before")
	}
	return s.show(jobFacts(resp.GetJob()))
}

func jobFacts(j *settlementv1.Job) string {
	approved := soso("not approved")
	if j.GetApprovedAt() != nil {
		approved = fmt.Sprintf("%s by %s", moment(j.GetApprovedAt()), j.GetApprovedBy())
	}
	return facts(
		"job", j.GetJobId(), "action", wordOf(j.GetAction()), "state", jobState(j.GetState()),
		"targets", fmt.Sprintf("%d of %d done, in chunks of %d", j.GetNextIndex(), j.GetTotal(), j.GetChunkSize()), "next", nextChunk(j),
		"registered", fmt.Sprintf("%s by %s", moment(j.GetRegisteredAt()), j.GetRegisteredBy()), "approved", approved, "hash", j.GetManifestHash())
}

// nextChunk names what runs next, as a conflict in it does.
func nextChunk(j *settlementv1.Job) string {
	size := max(j.GetChunkSize(), 1)
	if j.GetNextIndex() >= j.GetTotal() {
		return "nothing"
	}
	return fmt.Sprintf("chunk %d of %d (next_index %d)", j.GetNextIndex()/size+1, (j.GetTotal()+size-1)/size, j.GetNextIndex())
}

func jobState(s settlementv1.JobState) string {
	colour := map[settlementv1.JobState]text.Color{
		settlementv1.JobState_JOB_STATE_REGISTERED: text.FgYellow, settlementv1.JobState_JOB_STATE_APPROVED: text.FgCyan,
		settlementv1.JobState_JOB_STATE_DONE: text.FgGreen,
	}[s]
	return colour.Sprint(wordOf(s))
}
