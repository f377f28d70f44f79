package statements_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// until waits for something that other processes make true.
func (w *world) until(what, sql string, args ...any) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !postgrestest.Value[bool](w.DB, sql, args...); {
		if time.Now().After(deadline) {
			w.t.Fatalf("never: %s", what)
		}
	}
}

func (w *world) get() *settlementv1.Statement {
	w.t.Helper()
	resp, err := w.statements.GetStatement(w.t.Context(), &settlementv1.GetStatementRequest{
		TenantId: apptest.Tenant, ProviderId: apptest.Provider, StatementId: "june",
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetStatement()
}

func TestABrokenStreamGoesOnFromItsCheckpointOrFromTheBeginning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("a", "b", "c", "d")
	w.completed("x", 1)
	lines := []*settlementv1.StatementLine{
		line(1, "a", "0.1"), line(3, "x", "9"), line(4, "b", "0.2"), line(5, "bad", ""), line(8, "c", "0.3"), line(9, "d", "0.4"),
	}
	ctx, leave := context.WithCancel(t.Context())
	s := w.begin(ctx, header())
	s.page(lines[:2]...)
	w.until("the first page is taken", "SELECT coalesce(max(lines_through), 0) = 3 FROM statements")
	leave()
	if _, err := s.stream.CloseAndRecv(); status.Code(err) != codes.Canceled {
		t.Errorf("a stream that was left ended with %v", err)
	}
	if st := w.get(); st.GetLinesThrough() != 3 || st.GetLines() != 2 || st.GetCompletedAt() != nil {
		t.Errorf("the checkpoint is %v", st)
	}
	for _, rest := range [][]*settlementv1.StatementLine{lines[2:5], lines} {
		w.imported(header(), rest...)
	}
	st := w.get()
	w.wantCounts(st, counts{6, 4, 0, 0, 1, 0, 0, 1})
	if st.GetLinesThrough() != 9 || st.GetCompletedAt() == nil {
		t.Errorf("the statement is %v", st)
	}
	w.wantCosts(map[string]int64{"a": 100_000, "b": 200_000, "c": 300_000, "d": 400_000, "x": 1})
	w.WantExceptions(t, "r-x", apptest.Exception{Key: "x", Reason: "COST_CONFLICT", Cost: 9_000_000, Count: 1})
	w.Verify(t)
}

// A page that has come is taken to its end, although its client has died in the middle of it and the next import is there already.
func TestAPageIsTakenOnceAlthoughItsClientDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.completed("x", 1)
	w.sent("a")
	held, err := w.DB.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The page waits with its evidence taken and its record not yet written.
	w.DB.Exec(`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END'`)
	w.DB.Exec(`CREATE TRIGGER waits BEFORE INSERT ON statement_lines FOR EACH STATEMENT EXECUTE FUNCTION wait()`)
	if _, err := held.Exec(t.Context(), "SELECT pg_advisory_xact_lock(7)"); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	first := w.begin(ctx, header())
	first.page(line(1, "x", "9"), line(2, "a", "0.5"))
	w.until("the evidence is there and its record waits", "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)")
	leave()
	second := w.begin(t.Context(), header())
	second.page(line(1, "x", "9"), line(2, "a", "0.5"))
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	resp, err := second.stream.CloseAndRecv()
	if err != nil {
		t.Fatal(err)
	}
	w.wantCounts(resp.GetStatement(), counts{2, 1, 0, 0, 1, 0, 0, 0})
	w.WantExceptions(t, "r-x", apptest.Exception{Key: "x", Reason: "COST_CONFLICT", Cost: 9_000_000, Count: 1})
}

// The evidence comes before the checkpoint. Who dies between the two finds his own evidence, and does not take it for somebody else's.
func TestEvidenceThatWasNotRecordedIsFoundAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("a", "b")
	w.completed("c", 300_000)
	w.DB.Exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''the disk is full''; END'`)
	w.DB.Exec(`CREATE TRIGGER fails BEFORE INSERT ON statement_lines FOR EACH STATEMENT EXECUTE FUNCTION fail()`)
	lines := []*settlementv1.StatementLine{line(1, "a", "0.1"), line(2, "b", "0.2"), line(3, "c", "0.3")}
	_, err := w.try(header(), lines...)
	wantStatus(t, err, codes.Internal, "")
	w.wantCosts(map[string]int64{"a": 100_000, "b": 200_000})
	if st := w.get(); st.GetLinesThrough() != 0 || st.GetLines() != 0 {
		t.Errorf("the checkpoint is %v", st)
	}
	w.DB.Exec("DROP TRIGGER fails ON statement_lines")
	w.wantCounts(w.imported(header(), lines...).GetStatement(), counts{3, 3, 1, 0, 0, 0, 0, 0})
	w.Verify(t)
}

// A row that stays locked stops the import at its line. What came before stands.
func TestALockedRowStopsTheImportAtItsLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("a", "locked", "z")
	held, err := w.DB.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(t.Context(), "SELECT FROM reservations WHERE reservation_id = 'r-locked' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	lines := []*settlementv1.StatementLine{line(1, "a", "0.1"), line(2, "locked", "0.2"), line(3, "z", "0.3")}
	_, err = w.try(header(), lines...)
	wantStatus(t, err, codes.Unavailable, "")
	if st := w.get(); st.GetLinesThrough() != 1 || st.GetLines() != 1 {
		t.Errorf("the checkpoint is %v", st)
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantCounts(w.imported(header(), lines...).GetStatement(), counts{3, 3, 0, 0, 0, 0, 0, 0})
	w.wantCosts(map[string]int64{"a": 100_000, "locked": 200_000, "z": 300_000})
}

// A tenant whose queue is full sheds calls. An import gives way to them and waits.
func TestAnImportWaitsForAFullQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *app.Config) { c.QueueMax, c.BatchMax = 1, 2 })
	var lines []*settlementv1.StatementLine
	for i := range 40 {
		key := fmt.Sprintf("k%02d", i)
		w.sent(key)
		lines = append(lines, line(int64(i+1), key, "0.5"))
	}
	w.wantCounts(w.imported(header(), lines...).GetStatement(), counts{40, 40, 0, 0, 0, 0, 0, 0})
	w.Verify(t)
}

// A line that the ledger cannot take for a reason of its own is listed like any bad line.
func TestALineThatTheLedgerCannotTakeStopsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("a", "worn-out", "z")
	w.DB.Exec("UPDATE reservations SET revision = 2147483647 WHERE reservation_id = 'r-worn-out'")
	resp := w.imported(header(), line(1, "a", "0.1"), line(2, "worn-out", "0.2"), line(3, "z", "0.3"))
	w.wantCounts(resp.GetStatement(), counts{3, 2, 0, 0, 0, 0, 0, 1})
	wantFindings(t, resp.GetFindings(), "2 BAD worn-out: reservation_id: reservation r-worn-out has used up its revisions")
	w.wantCosts(map[string]int64{"a": 100_000, "worn-out": -1, "z": 300_000})
}

func TestTwoServersImportOneStatementTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := on(t, apptest.On(t, w.DB))
	var keys []string
	for i := range 60 {
		keys = append(keys, fmt.Sprintf("k%02d", i))
	}
	w.sent(keys...)
	var wg sync.WaitGroup
	for _, at := range []*world{w, other, w, other} {
		wg.Go(func() {
			s := at.begin(t.Context(), header())
			for i, key := range keys {
				s.page(line(int64(i+1), key, "0.5"))
			}
			if _, err := s.stream.CloseAndRecv(); err != nil && status.Code(err) != codes.Aborted {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	st := w.get()
	if st.GetLines() != 60 || st.GetMatched() != 60 || st.GetMismatched() != 0 || st.GetLinesThrough() != 60 {
		t.Errorf("together they came to %v", st)
	}
	if n := postgrestest.Value[int64](w.DB, "SELECT count(*) FROM entries WHERE event_type = 'COST_RECORDED'"); n != 60 {
		t.Errorf("%d costs were recorded", n)
	}
	w.Verify(t)
}

func TestNoTransactionIsOpenWhileAStatementIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("a", "b")
	s := w.begin(t.Context(), header())
	s.page(line(1, "a", "0.1"))
	w.until("the page is taken", "SELECT coalesce(max(lines_through), 0) = 1 FROM statements")
	w.until("every connection is idle outside of a transaction, and holds no lock",
		`SELECT NOT EXISTS (SELECT FROM pg_stat_activity a LEFT JOIN pg_locks l USING (pid)
			WHERE a.datname = current_database() AND a.usename = 'settlementd_service' AND (a.state <> 'idle' OR l.granted))`)
	s.page(line(2, "b", "0.2"))
	resp, err := s.stream.CloseAndRecv()
	if err != nil {
		t.Fatal(err)
	}
	w.wantCounts(resp.GetStatement(), counts{2, 2, 0, 0, 0, 0, 0, 0})
}

// An import goes on at another server after the first one has stopped.
func TestAnImportOutlivesItsServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sent("a", "b")
	other := on(t, apptest.On(t, w.DB))
	s := other.begin(t.Context(), header())
	s.page(line(1, "a", "0.1"))
	w.until("the page is taken", "SELECT coalesce(max(lines_through), 0) = 1 FROM statements")
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		other.Stop()
	}()
	// The server waits for the stream to end, and takes no more of it.
	for n := int64(2); s.stream.Send(&settlementv1.ImportStatementRequest{Message: &settlementv1.ImportStatementRequest_Page{
		Page: &settlementv1.StatementPage{Lines: []*settlementv1.StatementLine{line(n, "nobody's", "1")}},
	}}) == nil; n++ {
	}
	_, err := s.stream.CloseAndRecv()
	wantStatus(t, err, codes.Unavailable, "")
	<-stopped
	if n := w.get().GetLinesThrough(); n < 1 {
		t.Errorf("the checkpoint is %d", n)
	}
}
