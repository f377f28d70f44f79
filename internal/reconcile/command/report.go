package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// Report compares what a job did with what its reservations are now.
func (s *Session) Report(ctx context.Context, job string) error {
	r, err := call(ctx, settlementv1.NewReconciliationJobServiceClient(s.Conn).ReportJob, &settlementv1.ReportJobRequest{TenantId: s.Tenant, JobId: job})
	if err != nil {
		return err
	}
	if s.Output == JSON {
		return writeJSON(s.Out, r)
	}
	return s.show(jobFacts(r.GetJob()), reportCounts(r), changedSince(r), remaining(r.GetRemaining()))
}

func reportCounts(r *settlementv1.ReportJobResponse) string {
	t := newTable("approved", "committed", "remaining", "matching", "drifted", "missing")
	right(t, 1, 2, 3, 4, 5, 6)
	drifted, missing := fmt.Sprint(len(r.GetDrifted())), fmt.Sprint(len(r.GetMissing()))
	if len(r.GetDrifted()) > 0 {
		drifted = soso(drifted)
	}
	if len(r.GetMissing()) > 0 {
		missing = bad(missing)
	}
	t.AppendRow(table.Row{len(r.GetApproved()), len(r.GetCommitted()), len(r.GetRemaining()), good(fmt.Sprint(len(r.GetMatching()))), drifted, missing})
	return t.Render()
}

// changedSince shows the reservations that are no longer as the job left them.
func changedSince(r *settlementv1.ReportJobResponse) string {
	if len(r.GetDrifted())+len(r.GetMissing()) == 0 {
		return ""
	}
	t := newTable("reservation", "", "differs", "happened since")
	for _, d := range r.GetDrifted() {
		var events []string
		for _, e := range d.GetLaterEvents() {
			events = append(events, wordOf(e))
		}
		t.AppendRow(table.Row{d.GetReservationId(), soso("drifted"), differences(d.GetDifferences()), strings.Join(events, ", ")})
	}
	for _, id := range r.GetMissing() {
		t.AppendRow(table.Row{id, bad("missing")})
	}
	return t.Render()
}

// remaining lists what is still to do, as far as a person wants to read it.
func remaining(ids []string) string {
	const most = 64
	if len(ids) == 0 {
		return ""
	}
	t := newTable("remaining")
	for _, id := range ids[:min(len(ids), most)] {
		t.AppendRow(table.Row{id})
	}
	if more := len(ids) - most; more > 0 {
		t.AppendRow(table.Row{fmt.Sprintf("and %d more", more)})
	}
	return t.Render()
}
