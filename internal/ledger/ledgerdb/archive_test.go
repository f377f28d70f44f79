package ledgerdb

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// archived names the reservations in the archive.
func (w *world) archived() string {
	w.t.Helper()
	return postgrestest.Value[string](w.db, "SELECT coalesce(string_agg(reservation_id, ' ' ORDER BY reservation_id), '') FROM archived_reservations")
}

// sound fails the test if anything is broken.
func (w *world) sound() {
	w.t.Helper()
	if found := w.verify(); len(found) > 0 {
		w.t.Errorf("%+v", found)
	}
}

// cancelled are reservations that are over.
func (w *world) cancelled(ids ...ledger.ReservationID) {
	w.t.Helper()
	for _, id := range ids {
		w.reserve(reserveOf(id, ""))
		w.settle(ledger.Settlement{
			Reservation: id, Observer: ledger.ByFrontend, Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeCancelled, Cause: "bored"},
		})
	}
}

func TestOnlyWhatIsOverIsArchived(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	// One more has ended with its cost known, and nobody knows whether its request still runs.
	w.reserve(reserveOf("r9", "k9"))
	w.turnClock(time.Hour)
	w.reconcile(ledger.Proof{Reservation: "r9", Key: "k9", Kind: ledger.ProofNothingCharged, Source: ledger.Source{Kind: "invoice", Reference: "#2"}})
	w.reconcile(ledger.Proof{
		Reservation: "r9", Key: "k9", Kind: ledger.ProofGivenUp, Reason: "tired", Source: ledger.Source{Kind: "ticket", Reference: "#3"},
	})
	if v := w.answers["r9"]; v.Outcome == nil || v.Budget != ledger.Ended {
		t.Fatalf("%+v", v)
	}
	w.turnClock(3 * time.Hour)
	for _, c := range []struct {
		olderThan time.Duration
		want      string
	}{{4 * time.Hour, "r8"}, {2*time.Hour + time.Minute, "r1 r5 r8"}, {0, "r1 r5 r8"}} {
		if _, err := w.store.Archive(t.Context(), tenant, ArchivePage{OlderThan: c.olderThan, Scan: 100}); err != nil {
			t.Fatal(err)
		}
		if got := w.archived(); got != c.want {
			t.Errorf("older than %v: %s, want %s", c.olderThan, got, c.want)
		}
	}
	w.sound()
}

// A walk sees each reservation once, page by page, and goes past what it leaves.
func TestAWalkThroughTheReservationsEnds(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	var got []Archived
	var at Cursor
	for {
		page, err := w.store.Archive(t.Context(), tenant, ArchivePage{After: at, Scan: 3})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page)
		if page.Looked < 3 {
			break
		}
		at = page.Last
	}
	want := []Archived{{Looked: 3, Moved: 1}, {Looked: 3, Moved: 1}, {Looked: 1}} // r1 and r5; r8 is in the archive already
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Archived{}, "Last")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Archived{}, sure(w.store.Archive(t.Context(), "nobody", ArchivePage{Scan: 3}))); diff != "" {
		t.Error(diff)
	}
}

func sure[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// What is archived reads, loads and lists as before, in every field.
func TestAnArchivedReservationIsWhatItWas(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	r := NewReader(w.db.Read())
	list := func() []ledger.View {
		views, err := r.Reservations(t.Context(), tenant, ReservationFilter{}, Page{Size: 50})
		if err != nil {
			t.Fatal(err)
		}
		return views
	}
	before := list()
	w.archive("")
	if got := w.archived(); got != "r1 r5 r8" {
		t.Fatal(got)
	}
	if diff := cmp.Diff(before, list()); diff != "" {
		t.Errorf("listed: %s", diff)
	}
	b := w.begin(ledger.Keys{Reservations: all}, SkipLocked)
	for _, v := range before {
		read, err := r.Reservation(t.Context(), tenant, v.ID)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := b.Book.Expire(v.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v, read) + cmp.Diff(v, loaded.View, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s as read and as loaded: %s", v.ID, diff)
		}
	}
}

func TestLateFactsReachTheArchive(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	w.archive("")
	usd := func(m ledger.Micros) *ledger.Money { return &ledger.Money{Micros: m, Currency: "USD"} }

	// r5 was rejected at a cost of 12. Its provider finds that it has completed, and at 20.
	late := w.settle(ledger.Settlement{
		Reservation: "r5", Key: "k5", Observer: ledger.ByPoll, Cost: usd(20), OutputCheck: ledger.CheckNotRequired, Task: "late",
		Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeCompleted},
	})
	if late.Disposition != ledger.Superseded || len(late.Exceptions) != 2 || late.View.Revision != 2 {
		t.Fatalf("%+v", late)
	}
	for _, e := range late.Exceptions {
		if e.Reason != ledger.CostConflict {
			continue
		}
		in := ledger.Resolve{Exception: e.ID, Reservation: "r5", As: ledger.ExceptionApplied, Reason: "invoice 8"}
		answer := must(w, in.Keys(), func(b *ledger.Book) (ledger.ResolveAnswer, error) { return b.Resolve(in) })
		if answer.View.Revision != 3 || answer.View.Lines[0].Adjustment != 8 || answer.View.Lines[0].Task != "late" {
			t.Errorf("%+v", answer.View)
		}
	}
	if !w.reserve(func() ledger.Reserve { // the first answer again
		in := reserveOf("r5", "k5")
		in.Asked.Funding = ledger.Funding{Kind: ledger.FundFreeAttempt}
		return in
	}()).Replayed {
		t.Error("reserved twice")
	}
	if got := w.archived(); got != "r1 r5 r8" {
		t.Error(got)
	}
	w.sound()
}

func TestManyArchiversMoveEachReservationOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 60
	for i := range n {
		w.cancelled(ledger.ReservationID(fmt.Sprintf("r%02d", i)))
	}
	var mu sync.Mutex
	moved := 0
	var archiving sync.WaitGroup
	for range 4 {
		archiving.Go(func() {
			for at, looked := (Cursor{}), 7; looked == 7; {
				page, err := w.store.Archive(t.Context(), tenant, ArchivePage{After: at, Scan: 7})
				if err != nil {
					t.Error(err)
					return
				}
				at, looked = page.Last, page.Looked
				mu.Lock()
				moved += page.Moved
				mu.Unlock()
			}
		})
	}
	archiving.Wait()
	moved += w.archive("").Moved // what was locked when another came by
	if left := postgrestest.Value[int](w.db, "SELECT count(*) FROM reservations"); moved != n || left != 0 {
		t.Errorf("%d moved, %d left", moved, left)
	}
	w.sound()
}

// An archiver whose backend dies between the move and the end of its COMMIT has moved nothing; one whose connection ends has, or has not.
func TestAChunkIsMovedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ end, want string }{
		"its backend dies":    {"SELECT pg_terminate_backend(pid)", ""},
		"its caller gives up": {"SELECT pg_cancel_backend(pid)", ""},
		"nothing happens":     {"SELECT pid", "r1 r2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cancelled("r1", "r2")
			// COMMIT waits behind this, when everything is written.
			w.db.Exec(`CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM set_config(''lock_timeout'', ''0'', true), pg_advisory_xact_lock(7); RETURN NULL; END';
				CREATE CONSTRAINT TRIGGER held AFTER INSERT ON archived_reservations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION held()`)
			release := w.hold("SELECT pg_advisory_xact_lock(7)")
			done := make(chan error, 1)
			go func() {
				_, err := w.store.Archive(t.Context(), tenant, ArchivePage{Scan: 10})
				done <- err
			}()
			w.waits(1)
			w.db.Exec(c.end + " FROM pg_stat_activity WHERE datname = current_database() AND usename = 'settlementd_service' AND wait_event_type = 'Lock'")
			if c.want != "" {
				release()
			}
			if err := <-done; (err == nil) != (c.want != "") {
				t.Error(err)
			}
			release()
			if got := w.archived(); got != c.want {
				t.Errorf("archived: %q", got)
			}
			w.sound()
			w.archive("")
			if got := w.archived(); got != "r1 r2" {
				t.Errorf("archived in the end: %q", got)
			}
			w.sound()
		})
	}
}
