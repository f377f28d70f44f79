package statements_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

func TestWhatAnImportRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("a", "b")
	w.imported(header(), line(1, "a", "0.1"), line(3, "b", "0.2"))
	before := w.everything()
	h := func(change func(*settlementv1.StatementHeader)) *settlementv1.StatementHeader { return header(change) }
	now := time.Now()
	for name, of := range map[string]struct {
		header *settlementv1.StatementHeader
		lines  []*settlementv1.StatementLine
		code   codes.Code
		field  string
	}{
		"no header":          {nil, []*settlementv1.StatementLine{line(1, "a", "0.1")}, codes.InvalidArgument, "header"},
		"nothing":            {nil, nil, codes.InvalidArgument, "header"},
		"no tenant":          {h(func(h *settlementv1.StatementHeader) { h.TenantId = "" }), nil, codes.InvalidArgument, "header.tenant_id"},
		"no such tenant":     {h(func(h *settlementv1.StatementHeader) { h.TenantId = "nobody" }), nil, codes.NotFound, "header.provider_id"},
		"no such provider":   {h(func(h *settlementv1.StatementHeader) { h.ProviderId = "nobody" }), nil, codes.NotFound, "header.provider_id"},
		"no statement id":    {h(func(h *settlementv1.StatementHeader) { h.StatementId = "" }), nil, codes.InvalidArgument, "header.statement_id"},
		"id with a space":    {h(func(h *settlementv1.StatementHeader) { h.StatementId = "june 1" }), nil, codes.InvalidArgument, "header.statement_id"},
		"another period":     {h(period(-time.Hour, 0)), nil, codes.AlreadyExists, "header.period_start"},
		"period without end": {h(func(h *settlementv1.StatementHeader) { h.PeriodStart = timestamppb.New(now) }), nil, codes.InvalidArgument, "header.period_end"},
		"period without start": {
			h(func(h *settlementv1.StatementHeader) { h.PeriodEnd = timestamppb.New(now) }), nil, codes.InvalidArgument, "header.period_start",
		},
		"period backwards": {h(period(0, 0)), nil, codes.InvalidArgument, "header.period_end"},
		"a number below 1": {header(), []*settlementv1.StatementLine{line(0, "a", "0.1")}, codes.InvalidArgument, "page.lines[0].line_number"},
		"a number twice": {
			header(), []*settlementv1.StatementLine{line(4, "a", "0.1"), line(4, "a", "0.1")}, codes.InvalidArgument, "page.lines[1].line_number",
		},
		"numbers backwards": {
			header(), []*settlementv1.StatementLine{line(4, "a", "0.1"), line(3, "a", "0.1")}, codes.InvalidArgument, "page.lines[1].line_number",
		},
		"another cost":                {header(), []*settlementv1.StatementLine{line(1, "a", "0.2")}, codes.AlreadyExists, "page.lines[0]"},
		"the same, written otherwise": {header(), []*settlementv1.StatementLine{line(1, "a", "0.10")}, codes.AlreadyExists, "page.lines[0]"},
		"a line that was not there": {
			header(), []*settlementv1.StatementLine{line(1, "a", "0.1"), line(2, "b", "0.2")}, codes.AlreadyExists, "page.lines[1]",
		},
	} {
		_, err := w.try(of.header, of.lines...)
		t.Log(name)
		wantStatus(t, err, of.code, of.field)
	}
	twice := w.begin(t.Context(), header())
	twice.send(&settlementv1.ImportStatementRequest{Message: &settlementv1.ImportStatementRequest_Header{Header: header()}})
	_, err := twice.stream.CloseAndRecv()
	wantStatus(t, err, codes.InvalidArgument, "header")
	w.wantUnchanged(before)
}

func TestFindingsAreListedInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("a", "b", "c", "listed")
	long := strings.Repeat("é", 200)
	resp := w.imported(header(period(-time.Hour, time.Hour)),
		line(1, "x", "1"), line(2, "listed", "1"), line(4, "y", "1"), line(5, "listed", "1"), line(6, "z", ""), line(7, long, "1"),
		line(math.MaxInt64, "last", "1"))
	wantFindings(t, resp.GetFindings(), "0 UNKNOWN_TO_THEM a", "0 UNKNOWN_TO_THEM b", "0 UNKNOWN_TO_THEM c",
		"1 UNKNOWN_TO_US x", "4 UNKNOWN_TO_US y", "5 REPEATED listed", "6 BAD z", "7 BAD "+long,
		"9223372036854775807 UNKNOWN_TO_US last")
	for size := int32(1); size <= 10; size++ {
		var found []*settlementv1.StatementFinding
		req := &settlementv1.ListStatementFindingsRequest{TenantId: apptest.Tenant, ProviderId: apptest.Provider, StatementId: "june", PageSize: &size}
		for {
			page, err := w.statements.ListStatementFindings(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.GetFindings()) > int(size) {
				t.Errorf("%d findings on a page of %d", len(page.GetFindings()), size)
			}
			found = append(found, page.GetFindings()...)
			if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
				break
			}
		}
		wantSame(t, resp.GetFindings(), found)
	}
	for token, code := range map[string]codes.Code{"made-up": codes.InvalidArgument, "MSB4": codes.InvalidArgument, strings.Repeat("x", 600): codes.InvalidArgument} {
		_, err := w.statements.ListStatementFindings(t.Context(), &settlementv1.ListStatementFindingsRequest{
			TenantId: apptest.Tenant, ProviderId: apptest.Provider, StatementId: "june", PageToken: token,
		})
		wantStatus(t, err, code, "page_token")
	}
}

func TestAStatementThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.statements.GetStatement(t.Context(), &settlementv1.GetStatementRequest{TenantId: apptest.Tenant, ProviderId: apptest.Provider, StatementId: "june"})
	wantStatus(t, err, codes.NotFound, "statement_id")
	_, err = w.statements.ListStatementFindings(t.Context(), &settlementv1.ListStatementFindingsRequest{
		TenantId: apptest.Tenant, ProviderId: apptest.Provider, StatementId: "june",
	})
	wantStatus(t, err, codes.NotFound, "statement_id")
}
