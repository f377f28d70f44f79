package statements_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

func TestAStatementMakesCostsKnownAndListsTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.PoolSize, c.ReadPoolSize = 1, 1 })
	w.sent("new")
	w.accepted("named", "task-1")
	w.completed("known", 120)
	w.completed("other", 100)

	resp := w.imported(header(),
		line(2, "new", "0.00007"), ofTask(3, "task-1", "0.00008"), line(4, "known", "0.00012"), line(5, "other", "0.00011"),
		line(6, "nobody's", "1"), ofTask(7, "task-9", "1"), line(8, "new", "a lot"), line(9, "", "1"))
	w.wantCounts(resp.GetStatement(), counts{8, 3, 1, 0, 1, 2, 0, 2})
	wantFindings(t, resp.GetFindings(),
		"5 MISMATCH other: 0.00011 USD by the statement, 0.0001 on record",
		"6 UNKNOWN_TO_US nobody's: no request has this request_key", "7 UNKNOWN_TO_US : no request has this provider_task_id",
		"8 BAD new: cost: want a decimal number such as 12.50", "9 BAD : names no request")
	w.wantCosts(map[string]int64{"new": 70, "named": 80, "known": 120, "other": 100})
	w.WantExceptions(t, "r-other", apptest.Exception{Key: "other", Reason: "COST_CONFLICT", Cost: 110, Count: 1})

	s := resp.GetStatement()
	if s.GetLinesThrough() != 9 || s.GetCompletedAt() == nil || s.GetProviderId() != apptest.Provider || s.GetStatementId() != "june" {
		t.Errorf("the statement is %v", s)
	}
	mismatch := resp.GetFindings()[0]
	wantSame(t, &settlementv1.StatementFinding{
		LineNumber: 5, Kind: settlementv1.StatementFindingKind_STATEMENT_FINDING_KIND_MISMATCH, RequestKey: "other", ReservationId: "r-other",
		Cost: apptest.Money(110), Recorded: apptest.Money(100), ExceptionId: mismatch.GetExceptionId(), Reason: mismatch.GetReason(),
	}, mismatch)
	if id := postgrestest.Value[string](w.DB, "SELECT exception_id FROM exceptions"); mismatch.GetExceptionId() != id {
		t.Errorf("names exception %q and left %q", mismatch.GetExceptionId(), id)
	}
	evidence := w.Get(t, "r-named").GetLines()[0].GetLastEvidence()
	if src := evidence.GetSource(); src.GetKind() != settlementv1.SourceKind_SOURCE_KIND_PROVIDER_STATEMENT || src.GetReference() != "statement june line 3" {
		t.Errorf("the evidence is %v", evidence)
	}
	w.Verify(t)
}

func TestTheSameStatementTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("new")
	w.completed("other", 100)
	w.completed("unlisted", 5)
	h := header(period(-time.Hour, time.Hour))
	lines := []*settlementv1.StatementLine{line(2, "new", "0.5"), line(3, "other", "0.7"), line(4, "new", "0.5"), line(5, "nobody's", "1"), line(6, "x", "-1")}
	first := w.imported(h, lines...)
	w.wantCounts(first.GetStatement(), counts{5, 2, 1, 1, 1, 1, 1, 1})
	before := w.everything()
	wantSame(t, first, w.imported(h, lines...))
	wantSame(t, first, w.imported(h, lines[3:]...)) // from the checkpoint on, or nearly
	wantSame(t, first, w.imported(h))
	w.wantUnchanged(before)
}

func TestTheSameCostsInAnotherStatementAreKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("a", "b")
	w.imported(header(), line(1, "a", "0.1"), line(2, "b", "0.2"))
	entries := w.Entries(t, "r-a") + w.Entries(t, "r-b")
	resp := w.imported(header(func(h *settlementv1.StatementHeader) { h.StatementId = "june-corrected" }), line(1, "a", "0.1"), line(2, "b", "0.2"))
	w.wantCounts(resp.GetStatement(), counts{2, 2, 2, 0, 0, 0, 0, 0})
	wantFindings(t, resp.GetFindings())
	if got := w.Entries(t, "r-a") + w.Entries(t, "r-b"); got != entries {
		t.Errorf("%d entries, %d before", got, entries)
	}
}

// period is a change of the header: the statement covers the time from so much before or after now to so much.
func period(from, to time.Duration) func(*settlementv1.StatementHeader) {
	now := time.Now()
	return func(h *settlementv1.StatementHeader) {
		h.PeriodStart, h.PeriodEnd = timestamppb.New(now.Add(from)), timestamppb.New(now.Add(to))
	}
}

func TestWhatALineCanGetWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("k")
	for _, of := range []struct {
		change func(*settlementv1.StatementLine)
		want   string
	}{
		{func(l *settlementv1.StatementLine) { l.RequestKey = "" }, "names no request"},
		{func(l *settlementv1.StatementLine) { l.RequestKey = "k k" }, "request_key: want 1 to 128 printable"},
		{func(l *settlementv1.StatementLine) { l.RequestKey = "schlüssel" }, "request_key: want"},
		{func(l *settlementv1.StatementLine) { l.RequestKey = "k\x00" }, "request_key: want"},
		{func(l *settlementv1.StatementLine) { l.RequestKey = strings.Repeat("k", 129) }, "request_key: want"},
		{func(l *settlementv1.StatementLine) { l.ProviderTaskId = "t t" }, "provider_task_id: want"},
		{func(l *settlementv1.StatementLine) { l.Cost = "" }, "cost: is empty"},
		{func(l *settlementv1.StatementLine) { l.Cost = "-0.5" }, "cost: want a decimal number"},
		{func(l *settlementv1.StatementLine) { l.Cost = "1,50" }, "cost: want a decimal number"},
		{func(l *settlementv1.StatementLine) { l.Cost = "1e3" }, "cost: want a decimal number"},
		{func(l *settlementv1.StatementLine) { l.Cost = "0.0000001" }, "cost: has more than 6 digits"},
		{func(l *settlementv1.StatementLine) { l.Cost = "1000000000.1" }, "cost: is more than"},
		{func(l *settlementv1.StatementLine) { l.Currency = "" }, "currency: want three capital letters"},
		{func(l *settlementv1.StatementLine) { l.Currency = "usd" }, "currency: want"},
		{func(l *settlementv1.StatementLine) { l.Unreadable = "has 3 fields\x1b[31m" }, "has 3 fields\ufffd[31m"},
		{func(l *settlementv1.StatementLine) { l.Unreadable = strings.Repeat("ü", 1<<16) }, strings.Repeat("ü", 255) + "…"},
	} {
		l := line(1, "k", "0.5")
		of.change(l)
		h := header(func(h *settlementv1.StatementHeader) {
			h.StatementId = postgrestest.Value[string](w.DB, "SELECT 's' || count(*) FROM statements")
		})
		resp := w.imported(h, l, line(2, "k", "0.5"))
		if f := resp.GetFindings(); len(f) != 1 || f[0].GetLineNumber() != 1 || !strings.HasPrefix(f[0].GetReason(), of.want) {
			t.Errorf("want %q: %v", of.want, f)
		}
		if s := resp.GetStatement(); s.GetBad() != 1 || s.GetMatched() != 1 {
			t.Errorf("the other line is not matched: %v", s)
		}
	}
	w.wantCosts(map[string]int64{"k": 500_000})
	w.Verify(t)
}

func TestWhichRequestALineNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accepted("a", "task-a")
	w.accepted("b", "task-b")
	w.sent("c")
	for _, other := range []string{"elsewhere"} {
		w.PutProvider(t, func(p *settlementv1.PutProviderRequest) { p.ProviderId = other })
		w.Granted(t, "r-"+other, other, func(r *settlementv1.ReserveRequest) { r.ProviderId = other })
		w.Report(t, "r-"+other, other, apptest.Accepted("task-of-both"))
	}
	w.accepted("d", "task-of-both")
	both := func(n int64, key, task string) *settlementv1.StatementLine {
		l := line(n, key, "0.5")
		l.ProviderTaskId = task
		return l
	}
	resp := w.imported(header(),
		both(1, "a", "task-a"), both(2, "a", "task-b"), both(3, "b", "task-x"), both(4, "c", "task-x"), both(5, "nobody's", "task-b"),
		line(6, "elsewhere", "1"), ofTask(7, "task-of-both", "0.5"), both(8, "elsewhere", "task-of-both"), both(9, "nobody's", "nothing"))
	w.wantCounts(resp.GetStatement(), counts{9, 3, 0, 0, 0, 2, 0, 4})
	wantFindings(t, resp.GetFindings(),
		"2 BAD a: provider_task_id belongs to request b", "3 BAD b: the request has the provider_task_id task-b",
		"5 BAD nobody's: provider_task_id belongs to request b", "6 UNKNOWN_TO_US elsewhere: the request went to provider elsewhere",
		"8 BAD elsewhere: provider_task_id belongs to request d", "9 UNKNOWN_TO_US nobody's: no request")
	w.wantCosts(map[string]int64{"a": 500_000, "b": -1, "c": 500_000, "d": 500_000, "elsewhere": -1})
	w.Verify(t)
}

func TestARequestThatIsChargedTwiceIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.accepted("a", "task-a")
	w.completed("b", 300_000)
	s := w.begin(t.Context(), header())
	s.page(line(1, "a", "0.5"), ofTask(2, "task-a", "0.5"), line(3, "a", "0.6"))
	s.page(line(4, "a", "0.5"), line(5, "b", "0.3"), line(6, "b", "0.3"))
	resp, err := s.stream.CloseAndRecv()
	if err != nil {
		t.Fatal(err)
	}
	w.wantCounts(resp.GetStatement(), counts{6, 5, 4, 3, 1, 0, 0, 0})
	wantFindings(t, resp.GetFindings(), "2 REPEATED a: an earlier line", "3 MISMATCH a: 0.60 USD by the statement, 0.50 on record",
		"4 REPEATED a: ", "6 REPEATED b: ")
	w.WantExceptions(t, "r-a", apptest.Exception{Key: "a", Reason: "COST_CONFLICT", Cost: 600_000, Count: 1})
	w.Verify(t)
}

func TestAnotherCurrencyIsAMismatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("a")
	l := line(1, "a", "0.5")
	l.Currency = "EUR"
	resp := w.imported(header(), l)
	wantFindings(t, resp.GetFindings(), "1 MISMATCH a: charged in EUR, and the provider's currency is USD")
	if f := resp.GetFindings()[0]; f.GetCost().GetCurrency() != "EUR" || f.GetRecorded() != nil || f.GetExceptionId() == "" {
		t.Errorf("the finding is %v", f)
	}
	w.wantCosts(map[string]int64{"a": -1})
	w.WantExceptions(t, "r-a", apptest.Exception{Key: "a", Reason: "CURRENCY_MISMATCH", Cost: 500_000, Count: 1})
}

// A cost that an operator has put right is the one on record; the first one is no news to the ledger, but to the reader of a statement.
func TestACostThatWasPutRightIsTheOneOnRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.completed("a", 500_000)
	resp := w.imported(header(), line(1, "a", "0.6"))
	id := resp.GetFindings()[0].GetExceptionId()
	if _, err := w.Reconciliation.ResolveException(t.Context(), &settlementv1.ResolveExceptionRequest{
		TenantId: apptest.Tenant, ExceptionId: id,
		Resolution: &settlementv1.ResolveExceptionRequest_Apply{Apply: &settlementv1.ApplyResolution{Reason: "by the invoice"}},
	}); err != nil {
		t.Fatal(err)
	}
	resp = w.imported(header(func(h *settlementv1.StatementHeader) { h.StatementId = "july" }), line(1, "a", "0.6"), line(2, "a", "0.5"))
	w.wantCounts(resp.GetStatement(), counts{2, 1, 1, 0, 1, 0, 0, 0})
	wantFindings(t, resp.GetFindings(), "2 MISMATCH a: 0.50 USD by the statement, 0.60 on record")
	if f := resp.GetFindings()[0]; f.GetExceptionId() != "" || f.GetRecorded().GetAmountMicros() != 600_000 {
		t.Errorf("the finding is %v", f)
	}
	w.Verify(t)
}
