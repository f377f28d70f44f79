package statements_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// may is a statement of the month of May.
func may() *settlementv1.StatementHeader {
	return header(func(h *settlementv1.StatementHeader) {
		h.StatementId = "may"
		h.PeriodStart = timestamppb.New(time.Date(2031, 5, 1, 0, 0, 0, 0, time.UTC))
		h.PeriodEnd = timestamppb.New(time.Date(2031, 6, 1, 0, 0, 0, 0, time.UTC))
	})
}

func TestWhatAStatementOughtToList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := func(month time.Month, day, hour int) {
		w.StopClock(time.Date(2031, month, day, hour, 0, 0, 0, time.UTC))
	}
	at(4, 30, 23)
	w.completed("april", 100)
	at(5, 1, 0)
	w.completed("first-moment", 100)
	at(5, 20, 12)
	w.completed("listed", 100)
	w.accepted("listed-by-task", "task")
	w.completed("free", 0)
	w.accepted("running", "task-2")
	w.sent("unsent")
	w.Report(t, "r-unsent", "unsent", apptest.Unsent("unsent"))
	w.completed("other-cost", 100)
	w.PutProvider(t, func(p *settlementv1.PutProviderRequest) { p.ProviderId = "elsewhere" })
	w.Granted(t, "r-elsewhere", "elsewhere", func(r *settlementv1.ReserveRequest) { r.ProviderId = "elsewhere" })
	at(6, 1, 0)
	w.completed("june", 100)

	lines := []*settlementv1.StatementLine{line(1, "listed", "0.0001"), ofTask(2, "task", "0.0001"), line(3, "other-cost", "0.0002"), line(4, "april", "0.0001")}
	resp := w.imported(may(), lines...)
	w.wantCounts(resp.GetStatement(), counts{4, 3, 2, 0, 1, 0, 2, 0})
	wantFindings(t, resp.GetFindings(), "0 UNKNOWN_TO_THEM first-moment: permitted at 2031-05-01T00:00:00Z, SUCCEEDED, its cost is on record",
		"0 UNKNOWN_TO_THEM running: permitted at 2031-05-20T12:00:00Z, ACCEPTED, its cost is not known yet", "3 MISMATCH other-cost")
	first, running := resp.GetFindings()[0], resp.GetFindings()[1]
	if first.GetRecorded().GetAmountMicros() != 100 || first.GetReservationId() != "r-first-moment" || first.GetCost() != nil {
		t.Errorf("the finding is %v", first)
	}
	if running.GetRecorded() != nil || running.GetProviderTaskId() != "task-2" {
		t.Errorf("the finding is %v", running)
	}

	// The same statement once more tells of the journal as it is by then; lines that are added to it are held against it, too.
	w.Reconcile(t, "r-running", "running", apptest.Free())
	resp = w.imported(may(), lines...)
	wantFindings(t, resp.GetFindings(), "0 UNKNOWN_TO_THEM first-moment", "3 MISMATCH other-cost")
	resp = w.imported(may(), append(lines, line(5, "first-moment", "0.0001"))...)
	w.wantCounts(resp.GetStatement(), counts{5, 4, 3, 0, 1, 0, 0, 0})
	wantFindings(t, resp.GetFindings(), "3 MISMATCH other-cost")
	w.Verify(t)
}
