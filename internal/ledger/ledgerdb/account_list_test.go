package ledgerdb

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

// An account's reservations are found in its ledger: each once and the oldest first, whatever it took, in whichever table it is, and however
// the pages are cut.
func TestAnAccountsReservationsAreThoseOfItsLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addAccount("bob")
	fundings := []ledger.Funding{
		{Kind: ledger.FundCredits, Credits: 10}, {Kind: ledger.FundCredits}, {Kind: ledger.FundFreeAttempt}, {Kind: ledger.FundFreeAttemptOrCredits, Credits: 3},
	}
	var want, open []ledger.ReservationID
	for i := range 12 {
		in := reserveOf(ledger.ReservationID(fmt.Sprintf("%c", 'z'-i)), "")
		in.Asked.Funding = fundings[i%len(fundings)]
		if i%5 == 4 {
			in.Asked.Account = "bob"
		} else {
			want = append(want, in.ID)
		}
		w.reserve(in)
	}
	for i, id := range want {
		if i%3 == 0 {
			w.settle(ledger.Settlement{Reservation: id, Observer: ledger.ByFrontend, Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeCancelled}})
		} else {
			open = append(open, id)
		}
	}
	if a := w.archive(""); a.Moved == 0 {
		t.Fatal("nothing was archived")
	}
	r := NewReader(w.db.Read())
	for name, c := range map[string]struct {
		filter ReservationFilter
		want   []ledger.ReservationID
	}{
		"all":  {ReservationFilter{Account: account}, want},
		"open": {ReservationFilter{Account: account, States: []ledger.State{ledger.Pending}}, open},
		"ended": {ReservationFilter{Account: account, Outcomes: []ledger.OutcomeKind{ledger.OutcomeCancelled}},
			slices.DeleteFunc(slices.Clone(want), func(id ledger.ReservationID) bool { return slices.Contains(open, id) })},
		"of another provider": {ReservationFilter{Account: account, Provider: "nobody"}, nil},
	} {
		for size := range 4 {
			if diff := cmp.Diff(c.want, pages(t, r, c.filter, size+1)); diff != "" {
				t.Errorf("%s, %d a page: %s", name, size+1, diff)
			}
		}
	}
}

// pages reads a list to its end.
func pages(t *testing.T, r *Reader, f ReservationFilter, size int) (found []ledger.ReservationID) {
	t.Helper()
	for page := (Page{Size: size}); ; {
		views, err := r.Reservations(t.Context(), tenant, f, page)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, ids(views)...)
		if len(views) < size {
			return found
		}
		last := views[size-1]
		page.After = Cursor{last.CreatedAt, string(last.ID)}
	}
}

// An account that has very many reservations has its pages read as quickly as any other, wherever they begin and whatever was taken, and also
// by a plan that was made when there were none.
func TestABusyAccountsListReadsNoFurtherThanItsPage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		taken    string
		analysed bool
	}{
		"credits": {"SELECT", true}, "nothing": {"UPDATE entries SET unit = NULL WHERE event_type = 'RESERVED'", true},
		"credits, never analysed": {"SELECT", false}, "nothing, never analysed": {"UPDATE entries SET unit = NULL WHERE event_type = 'RESERVED'", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newGrownWorld(t, 0)
			conn := connection(t, w.db.Read())
			if _, err := conn.Exec(t.Context(), "SET plan_cache_mode = force_generic_plan"); err != nil {
				t.Fatal(err)
			}
			w.db.Exec("ANALYZE")
			w.readsBusyPages(conn, ReservationFilter{Account: "busy"}) // the plan is made now
			w.grow(0, 20_000)
			w.unguarded("ALTER TABLE entries DROP CONSTRAINT movements_are_whole; " + c.taken +
				"; UPDATE entries SET account_id = 'busy'; UPDATE reservations SET account_id = 'busy'; UPDATE archived_reservations SET account_id = 'busy'")
			if c.analysed {
				w.db.Exec("VACUUM ANALYZE")
				w.readsBusyPages(conn, ReservationFilter{Account: "busy", States: []ledger.State{ledger.Processing}})
			}
			w.readsBusyPages(conn, ReservationFilter{Account: "busy"})
		})
	}
}

// readsBusyPages explains pages of a busy account's list, with the plans that the connection has.
func (w *world) readsBusyPages(conn *pgx.Conn, f ReservationFilter) {
	w.t.Helper()
	tx, err := conn.Begin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(w.t.Context())) }()
	at := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	for _, after := range []Cursor{{}, {at, "r10800"}} {
		sql, args := f.page(tenant, Page{After: after, Size: batchItems})
		const most = 20 * batchItems // of each the entry, the row in one of two tables, and its line
		if e := explainOne(w.t.(*testing.T), tx, statement{sql, args}); e.buffers > most {
			w.t.Errorf("after %v: %d buffers: %s\n%s", after, e.buffers, sql, e.text)
		}
	}
}
