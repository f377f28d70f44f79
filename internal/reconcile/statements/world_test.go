package statements_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// world is a running service with room for as many requests as a test wants.
type world struct {
	*apptest.Service
	t          *testing.T
	statements settlementv1.StatementServiceClient
}

func newWorld(t *testing.T, change ...func(*app.Config)) *world {
	t.Helper()
	w := on(t, apptest.New(t, change...))
	w.Seed(t, func(p *settlementv1.PutProviderRequest) { p.BudgetLimitMicros = 1_000_000_000 })
	if _, err := w.Accounts.PutAccount(t.Context(), &settlementv1.PutAccountRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: 100}); err != nil {
		t.Fatal(err)
	}
	return w
}

func on(t *testing.T, s *apptest.Service) *world {
	return &world{Service: s, t: t, statements: settlementv1.NewStatementServiceClient(s.Conn)}
}

// sent reserves and takes a permit for a request whose cost is not known.
func (w *world) sent(keys ...string) {
	w.t.Helper()
	for _, key := range keys {
		w.Granted(w.t, "r-"+key, key, func(r *settlementv1.ReserveRequest) {
			r.Funding = &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: 1}}
		})
	}
}

// accepted is a request that the provider has named.
func (w *world) accepted(key, task string) {
	w.t.Helper()
	w.sent(key)
	w.Report(w.t, "r-"+key, key, apptest.Accepted(task))
}

// completed is a request whose cost is on record.
func (w *world) completed(key string, micros int64) {
	w.t.Helper()
	w.sent(key)
	w.Settle(w.t, "r-"+key, key, apptest.Completed(apptest.Money(micros)))
}

// header is that of the statement "june" of the provider.
func header(change ...func(*settlementv1.StatementHeader)) *settlementv1.StatementHeader {
	h := &settlementv1.StatementHeader{TenantId: apptest.Tenant, ProviderId: apptest.Provider, StatementId: "june"}
	for _, f := range change {
		f(h)
	}
	return h
}

// line is a line that names its request by the key.
func line(number int64, key, cost string) *settlementv1.StatementLine {
	return &settlementv1.StatementLine{LineNumber: number, RequestKey: key, Cost: cost, Currency: apptest.Currency}
}

// ofTask is a line that names its request as the provider does.
func ofTask(number int64, task, cost string) *settlementv1.StatementLine {
	return &settlementv1.StatementLine{LineNumber: number, ProviderTaskId: task, Cost: cost, Currency: apptest.Currency}
}

// statement is an import under way.
type statement struct {
	t      *testing.T
	stream settlementv1.StatementService_ImportStatementClient
}

func (w *world) begin(ctx context.Context, h *settlementv1.StatementHeader) *statement {
	w.t.Helper()
	stream, err := w.statements.ImportStatement(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	s := &statement{t: w.t, stream: stream}
	if h != nil {
		s.send(&settlementv1.ImportStatementRequest{Message: &settlementv1.ImportStatementRequest_Header{Header: h}})
	}
	return s
}

func (s *statement) send(m *settlementv1.ImportStatementRequest) {
	s.t.Helper()
	if err := s.stream.Send(m); err != nil && !errors.Is(err, io.EOF) { // the answer tells why the stream ended
		s.t.Fatal(err)
	}
}

func (s *statement) page(lines ...*settlementv1.StatementLine) {
	s.t.Helper()
	s.send(&settlementv1.ImportStatementRequest{Message: &settlementv1.ImportStatementRequest_Page{Page: &settlementv1.StatementPage{Lines: lines}}})
}

// try imports lines as one page.
func (w *world) try(h *settlementv1.StatementHeader, lines ...*settlementv1.StatementLine) (*settlementv1.ImportStatementResponse, error) {
	w.t.Helper()
	s := w.begin(w.t.Context(), h)
	if len(lines) > 0 {
		s.page(lines...)
	}
	return s.stream.CloseAndRecv()
}

// imported imports lines as one page, and fails the test when it gets no answer.
func (w *world) imported(h *settlementv1.StatementHeader, lines ...*settlementv1.StatementLine) *settlementv1.ImportStatementResponse {
	w.t.Helper()
	resp, err := w.try(h, lines...)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// counts are the numbers of a statement in the order lines, matched, already known, repeated, mismatched, unknown to us, unknown to them, bad.
type counts [8]int64

func (w *world) wantCounts(s *settlementv1.Statement, want counts) {
	w.t.Helper()
	got := counts{s.GetLines(), s.GetMatched(), s.GetAlreadyKnown(), s.GetRepeated(), s.GetMismatched(), s.GetUnknownToUs(), s.GetUnknownToThem(), s.GetBad()}
	if got != want {
		w.t.Errorf("lines, matched, known, repeated, mismatched, unknown to us, unknown to them, bad: %v, want %v", got, want)
	}
}

// finding is a finding in short: number, kind, key and the beginning of the reason.
func wantFindings(t *testing.T, got []*settlementv1.StatementFinding, want ...string) {
	t.Helper()
	for i, f := range got {
		text := fmt.Sprintf("%d %s %s: %s", f.GetLineNumber(), strings.TrimPrefix(f.GetKind().String(), "STATEMENT_FINDING_KIND_"), f.GetRequestKey(), f.GetReason())
		if i >= len(want) || !strings.HasPrefix(text, want[i]) {
			t.Errorf("finding %d is %q", i, text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d findings, want %d: %q", len(got), len(want), want)
	}
}

// cost is what is on record for a request, -1 if nothing is.
func (w *world) cost(key string) int64 {
	w.t.Helper()
	for _, l := range w.Get(w.t, "r-"+key).GetLines() {
		if l.GetRequestKey() == key && l.GetCost() != nil {
			return l.GetCost().GetAmountMicros()
		}
	}
	return -1
}

func (w *world) wantCosts(want map[string]int64) {
	w.t.Helper()
	for key, micros := range want {
		if got := w.cost(key); got != micros {
			w.t.Errorf("the cost of %s is %d, want %d", key, got, micros)
		}
	}
}

// everything is every row of every table.
func (w *world) everything() map[string][]string {
	w.t.Helper()
	rows := map[string][]string{}
	tables := postgrestest.Value[[]string](w.DB, `SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version'`)
	for _, table := range tables {
		rows[table] = postgrestest.Value[[]string](w.DB, fmt.Sprintf(`SELECT coalesce(array_agg(to_jsonb(x)::text ORDER BY to_jsonb(x)::text), '{}') FROM %s x`, table))
	}
	return rows
}

func (w *world) wantUnchanged(since map[string][]string) {
	w.t.Helper()
	if diff := cmp.Diff(since, w.everything()); diff != "" {
		w.t.Errorf("something changed (-before +after):\n%s", diff)
	}
}

// wantStatus compares the status of a call and the field that it names.
func wantStatus(t *testing.T, err error, code codes.Code, field string) {
	t.Helper()
	s := status.Convert(err)
	named := ""
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			named = info.GetMetadata()["field"]
		}
	}
	if s.Code() != code || named != field {
		t.Errorf("%s of %q (%v), want %s of %q", s.Code(), named, err, code, field)
	}
}

func wantSame[M any](t *testing.T, want, got M) {
	t.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}
