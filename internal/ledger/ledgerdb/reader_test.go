package ledgerdb

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/ledger"
)

func TestTenantsAreCreatedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := NewReader(w.db.Read())
	first, err := r.CreateTenant(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.CreateTenant(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if !first.Equal(again) || first.IsZero() {
		t.Errorf("created at %v, then at %v", first, again)
	}
	for id, want := range map[ledger.TenantID]bool{"other": true, "another": false} {
		if err := r.RequireTenant(t.Context(), id); (err == nil) != want || err != nil && !notFound(err) {
			t.Errorf("tenant %s: %v", id, err)
		}
	}
}

func TestTenantsAreListedInTheOrderOfBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := NewReader(w.db.Read())
	for _, id := range []ledger.TenantID{"b", "Z", "_", "a-1", "a1"} {
		if _, err := r.CreateTenant(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.Tenants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]ledger.TenantID{"Z", "_", "a-1", "a1", tenant, "b"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsAbsentIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, ctx := NewReader(w.db.Read()), t.Context()
	reads := map[string]func(tenant ledger.TenantID) error{
		"account_id":     func(tn ledger.TenantID) error { _, err := r.Account(ctx, tn, "x"); return err },
		"provider_id":    func(tn ledger.TenantID) error { _, err := r.Provider(ctx, tn, "x"); return err },
		"budget":         func(tn ledger.TenantID) error { _, err := r.Budget(ctx, tn, "x", time.Time{}); return err },
		"reservation_id": func(tn ledger.TenantID) error { _, err := r.Reservation(ctx, tn, "x"); return err },
		"exception_id":   func(tn ledger.TenantID) error { _, err := r.Exception(ctx, tn, "x"); return err },
		"ledger":         func(tn ledger.TenantID) error { _, err := r.Ledger(ctx, tn, "x", 0, 10); return err },
		"balance":        func(tn ledger.TenantID) error { _, err := r.BalanceAsOf(ctx, tn, "x", 1); return err },
	}
	for name, read := range reads {
		for _, tn := range []ledger.TenantID{tenant, "nobody"} {
			if err := read(tn); !notFound(err) {
				t.Errorf("%s of tenant %s: %v", name, tn, err)
			}
		}
	}
	if _, err := r.Reservations(ctx, "nobody", ReservationFilter{}, Page{Size: 10}); !notFound(err) {
		t.Errorf("reservations of nobody: %v", err)
	}
	if found, err := r.Reservations(ctx, tenant, ReservationFilter{}, Page{Size: 10}); err != nil || len(found) != 0 {
		t.Errorf("reservations of a new tenant: %v, %v", found, err)
	}
}

func notFound(err error) bool {
	var e *ledger.Error
	return errors.As(err, &e) && e.Kind == ledger.NotFound
}

func TestTimeZonesExistToTheLetter(t *testing.T) {
	t.Parallel()
	r := NewReader(newWorld(t).db.Read())
	for name, want := range map[string]bool{"Europe/Zurich": true, "UTC": true, "europe/zurich": false, "Mars/Olympus": false, "": false} {
		if got, err := r.TimeZoneExists(t.Context(), name); err != nil || got != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
}

// ids of a list of views.
func ids(views []ledger.View) []ledger.ReservationID {
	return array(views, func(v *ledger.View) ledger.ReservationID { return v.ID })
}

func TestListsOfReservationsPageAndFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := NewReader(w.db.Read())
	w.addProvider("other")
	for i := range 5 {
		id := ledger.ReservationID(fmt.Sprintf("r%d", i))
		in := reserveOf(id, ledger.RequestKey("k-"+id))
		if i == 4 {
			in.Asked.SubmissionKey, in.Asked.Provider = "", "other"
		}
		w.reserve(in)
	}
	cost := ledger.Money{Micros: 5, Currency: "USD"}
	for i, c := range []*ledger.Money{&cost, nil} { // r0 has ended with its cost known, r1 with its cost unknown
		w.settle(ledger.Settlement{
			Reservation: ledger.ReservationID(fmt.Sprintf("r%d", i)), Key: ledger.RequestKey(fmt.Sprintf("k-r%d", i)),
			Observer: ledger.ByCallback, Cost: c, Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeProviderFailed, Code: "boom"},
		})
	}
	w.turnClock(time.Hour) // r2 is overdue and marked, r3 and r4 are overdue
	must(w, ledger.Keys{Reservations: []ledger.ReservationID{"r2"}}, func(b *ledger.Book) (ledger.Expiry, error) { return b.Expire("r2") })

	for name, c := range map[string]struct {
		filter ReservationFilter
		want   []ledger.ReservationID
	}{
		"all":        {ReservationFilter{}, []ledger.ReservationID{"r0", "r1", "r2", "r3", "r4"}},
		"provider":   {ReservationFilter{Provider: "other"}, []ledger.ReservationID{"r4"}},
		"account":    {ReservationFilter{Account: "nobody"}, []ledger.ReservationID{}},
		"states":     {ReservationFilter{States: []ledger.State{ledger.Pending, ledger.Uncertain}}, []ledger.ReservationID{"r2", "r4"}},
		"outcomes":   {ReservationFilter{Outcomes: []ledger.OutcomeKind{ledger.OutcomeProviderFailed}}, []ledger.ReservationID{"r0", "r1"}},
		"overdue":    {ReservationFilter{Overdue: true}, []ledger.ReservationID{"r2", "r3", "r4"}},
		"unresolved": {ReservationFilter{UnresolvedCost: true}, []ledger.ReservationID{"r1"}},
		"older":      {ReservationFilter{OlderThan: 2 * time.Hour}, []ledger.ReservationID{}},
		"old enough": {ReservationFilter{OlderThan: 59 * time.Minute, UnresolvedCost: true}, []ledger.ReservationID{"r1"}},
	} {
		got := []ledger.ReservationID{}
		for page := (Page{Size: 2}); ; {
			views, err := r.Reservations(t.Context(), tenant, c.filter, page)
			if err != nil {
				t.Fatal(name, err)
			}
			got = append(got, ids(views)...)
			if len(views) < page.Size {
				break
			}
			last := views[len(views)-1]
			page.After = Cursor{last.CreatedAt, string(last.ID)}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheSweepFindsWhatIsDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := NewReader(w.db.Read())
	for i := range 3 {
		w.reserve(reserveOf(ledger.ReservationID(fmt.Sprintf("r%d", i)), ""))
	}
	if tenants, err := r.OverdueTenants(t.Context(), 10); err != nil || len(tenants) != 0 {
		t.Errorf("overdue before the deadline: %v, %v", tenants, err)
	}
	w.turnClock(time.Hour)
	if tenants, err := r.OverdueTenants(t.Context(), 10); err != nil || len(tenants) != 1 || tenants[0] != tenant {
		t.Errorf("overdue: %v, %v", tenants, err)
	}
	var got []ledger.ReservationID
	for after := (Due{}); ; {
		page, err := r.DueReservations(t.Context(), tenant, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page {
			got = append(got, d.Reservation)
		}
		if len(page) < 2 {
			break
		}
		after = page[1]
	}
	if diff := cmp.Diff([]ledger.ReservationID{"r0", "r1", "r2"}, got); diff != "" {
		t.Error(diff)
	}
	must(w, ledger.Keys{Reservations: got}, func(b *ledger.Book) (ledger.Expiry, error) { return b.Expire("r0") })
	if page, err := r.DueReservations(t.Context(), tenant, Due{}, 9); err != nil || len(page) != 2 {
		t.Errorf("after an expiry: %v, %v", page, err)
	}
}

func TestTheLedgerOfAnAccountTellsEveryBalance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, ctx := NewReader(w.db.Read()), t.Context()
	w.reserve(reserveOf("r1", "k1"))
	w.settle(ledger.Settlement{Reservation: "r1", Key: "k1", Observer: ledger.ByPoll, Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeProviderFailed, Code: "x"}})
	found, err := r.Ledger(ctx, tenant, account, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	types := array(found, func(e *ledger.Entry) ledger.EventType { return e.Type })
	want := []ledger.EventType{ledger.EventCreditsGranted, ledger.EventFreeAttemptsGranted, ledger.EventReserved, "PROVIDER_FAILED"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Fatal(diff)
	}
	held, err := r.BalanceAsOf(ctx, tenant, account, found[2].ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(AccountBalances{ledger.Balance{Available: 99_990, Held: 10}, ledger.Balance{Available: 100_000}, found[2].ID}, held); diff != "" {
		t.Error(diff)
	}
	rest, err := r.Ledger(ctx, tenant, account, found[1].ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(found[2:3], rest); diff != "" {
		t.Error(diff)
	}
}

func TestTheBudgetOfAPeriodYetToBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := NewReader(w.db.Read())
	empty, err := r.Budget(t.Context(), tenant, provider, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	w.reserve(reserveOf("r1", ""))
	taken, err := r.Budget(t.Context(), tenant, provider, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := empty
	want.Held = 200
	if diff := cmp.Diff(want, taken); diff != "" || empty.Limit != 1_000_000_000 {
		t.Error(diff, empty)
	}
}
