package command

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// Jobs lists reconciliation jobs, without their targets.
func (s *Session) Jobs(ctx context.Context, req *settlementv1.ListJobsRequest) error {
	req.TenantId, req.PageSize = s.Tenant, new(int32(pageSize))
	client := settlementv1.NewReconciliationJobServiceClient(s.Conn)
	all := &settlementv1.ListJobsResponse{}
	for {
		page, err := call(ctx, client.ListJobs, req)
		if err != nil {
			return err
		}
		all.Jobs = append(all.Jobs, page.GetJobs()...)
		if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if s.Output == JSON {
		return writeJSON(s.Out, all)
	}
	return s.show(jobsTable(all.GetJobs()))
}

func jobsTable(found []*settlementv1.Job) string {
	if len(found) == 0 {
		return "no job"
	}
	t := newTable("job", "action", "state", "done", "next", "registered", "by", "approved", "by", "last chunk")
	for _, j := range found {
		t.AppendRow(table.Row{
			j.GetJobId(), wordOf(j.GetAction()), jobState(j.GetState()), fmt.Sprintf("%d of %d", j.GetNextIndex(), j.GetTotal()), nextChunk(j),
			moment(j.GetRegisteredAt()), j.GetRegisteredBy(), moment(j.GetApprovedAt()), j.GetApprovedBy(), moment(j.GetProgressedAt()),
		})
	}
	return t.Render()
}
