package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// showStatement shows what a statement came to.
func (s *Session) showStatement(ctx context.Context, client settlementv1.StatementServiceClient, resp *settlementv1.ImportStatementResponse) error {
	st := resp.GetStatement()
	if s.Output == JSON {
		return s.writeStatement(ctx, client, resp)
	}
	listed := int64(len(resp.GetFindings()))
	if more := findingsOf(st) - listed; more > 0 {
		s.note("the first %d findings are shown; --output json has the %d others too", listed, more)
	}
	return s.show(findingsTable(resp.GetFindings()), statementFacts(st))
}

func findingsOf(st *settlementv1.Statement) int64 {
	return st.GetRepeated() + st.GetMismatched() + st.GetUnknownToUs() + st.GetUnknownToThem() + st.GetBad()
}

func findingsTable(found []*settlementv1.StatementFinding) string {
	if len(found) == 0 {
		return ""
	}
	t := newTable("line", "finding", "request", "task", "reservation", "stated", "recorded", "exception", "why")
	right(t, 1, 6, 7)
	for _, f := range found {
		line := fmt.Sprint(f.GetLineNumber())
		if f.GetLineNumber() == 0 {
			line = ""
		}
		t.AppendRow(table.Row{
			line, soso(wordOf(f.GetKind())), f.GetRequestKey(), f.GetProviderTaskId(), f.GetReservationId(), money(f.GetCost()), money(f.GetRecorded()),
			f.GetExceptionId(), f.GetReason(),
		})
	}
	return t.Render()
}

func statementFacts(st *settlementv1.Statement) string {
	period := "none"
	if st.GetPeriodStart() != nil {
		period = moment(st.GetPeriodStart()) + " to " + moment(st.GetPeriodEnd())
	}
	return facts(
		"statement", st.GetStatementId(), "provider", st.GetProviderId(), "period", period,
		"lines", fmt.Sprintf("%d, up to line %d of the file", st.GetLines(), st.GetLinesThrough()),
		"matched", good(fmt.Sprint(st.GetMatched())), "already known", fmt.Sprintf("%d of these, %d repeated", st.GetAlreadyKnown(), st.GetRepeated()),
		"amount mismatch", concern(st.GetMismatched()), "unknown to us", concern(st.GetUnknownToUs()),
		"unknown to them", concern(st.GetUnknownToThem()), "bad lines", concern(st.GetBad()))
}

// concern is a number that had better be none.
func concern(n int64) string {
	if n == 0 {
		return "0"
	}
	return soso(fmt.Sprint(n))
}

// writeStatement writes the statement with all of its findings, one a line. However many they are, only a page of them is held at a time.
func (s *Session) writeStatement(ctx context.Context, client settlementv1.StatementServiceClient, resp *settlementv1.ImportStatementResponse) error {
	st := resp.GetStatement()
	var head bytes.Buffer
	if err := json.Indent(&head, encode(st.ProtoReflect()), "  ", "  "); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.Out, "{\n  \"statement\": %s,\n  \"findings\": [", head.Bytes()); err != nil {
		return err
	}
	req := &settlementv1.ListStatementFindingsRequest{
		TenantId: s.Tenant, ProviderId: st.GetProviderId(), StatementId: st.GetStatementId(), PageSize: new(int32(pageSize)),
	}
	for begun := false; ; {
		page, err := call(ctx, client.ListStatementFindings, req)
		if err != nil {
			return err
		}
		if err := writeFindings(s.Out, page.GetFindings(), &begun); err != nil {
			return err
		}
		if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	_, err := fmt.Fprint(s.Out, "\n  ]\n}\n")
	return err
}

func writeFindings(w io.Writer, found []*settlementv1.StatementFinding, begun *bool) error {
	for _, f := range found {
		comma := ","
		if !*begun {
			*begun, comma = true, ""
		}
		if _, err := fmt.Fprintf(w, "%s\n    %s", comma, encode(f.ProtoReflect())); err != nil {
			return err
		}
	}
	return nil
}
