package ledgerdb

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// An account that has very many reservations has its pages read as quickly as any other, wherever they begin.
func TestABusyAccountsListReadsNoFurtherThanItsPage(t *testing.T) {
	t.Parallel()
	w := newGrownWorld(t, 20_000)
	w.unguarded("UPDATE entries SET account_id = 'busy'; UPDATE reservations SET account_id = 'busy'; UPDATE archived_reservations SET account_id = 'busy'")
	w.db.Exec("VACUUM ANALYZE")
	tx, err := w.db.Read().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	at := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		filter ReservationFilter
		most   int
	}{
		"all":      {ReservationFilter{Account: "busy"}, 16 * batchItems},                // of each the entry, the row in one of two tables, and its line
		"not over": {ReservationFilter{Account: "busy", Overdue: true}, 16 * batchItems}, // open ones are looked at too
	} {
		for _, after := range []Cursor{{}, {at, "r10800"}} {
			sql, args := c.filter.page(tenant, Page{After: after, Size: batchItems})
			if e := explainOne(t, tx, statement{sql, args}); e.scansAll() || e.buffers > c.most {
				t.Errorf("%s after %v: %d buffers: %s\n%s", name, after, e.buffers, sql, e.text)
			}
		}
	}
	sql, args := (&ReservationFilter{Account: "nobody", Overdue: true}).page(tenant, Page{Size: batchItems})
	if e := explainOne(t, tx, statement{sql, args}); e.scansAll() || e.buffers > batchItems {
		t.Errorf("an account without any: %d buffers: %s\n%s", e.buffers, sql, e.text)
	}
}
