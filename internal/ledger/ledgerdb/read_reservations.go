package ledgerdb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

// ReservationFilter narrows a list of reservations. Its zero value takes all of a tenant.
type ReservationFilter struct {
	IDs             []ledger.ReservationID // any of them
	Account         ledger.AccountID
	Provider        ledger.ProviderID
	States          []ledger.State       // any of them
	Outcomes        []ledger.OutcomeKind // any of them
	OlderThan       time.Duration        // created longer ago than this, by the database's clock
	Overdue         bool                 // open past the deadline, marked or not
	UnresolvedCost  bool                 // ended with a cost still unknown
	UnansweredCheck bool                 // with a check that has no answer
}

var reservationSQL = viewsSQL("SELECT t.*, t.created_at AS place FROM all_reservations t WHERE t.tenant_id = $1 AND t.reservation_id = $2")

// viewsSQL selects the reservations of a page with their lines, as they were at one moment. The page gives each its place in the list. The lines
// are looked up for each by themselves, as a planner that believes the table empty would not do.
func viewsSQL(page string) string {
	return "WITH page AS (" + page + ") SELECT " + reservations.columns("t") + ", " + lines.columns("l") +
		" FROM page t LEFT JOIN LATERAL (SELECT l.* FROM lines l WHERE l.tenant_id = $1 AND l.reservation_id = t.reservation_id AND l." +
		ofAnyReservation + " OFFSET 0) l ON true ORDER BY t.place, t.reservation_id, l.permitted_at, l.request_key"
}

// Reservation returns a reservation with its lines.
func (r *Reader) Reservation(ctx context.Context, tenant ledger.TenantID, id ledger.ReservationID) (ledger.View, error) {
	rows, err := r.pool.Query(ctx, reservationSQL, string(tenant), string(id))
	if err != nil {
		return ledger.View{}, fmt.Errorf("ledgerdb: read a reservation: %w", err)
	}
	found, err := collectViews(rows)
	switch {
	case err != nil:
		return ledger.View{}, fmt.Errorf("ledgerdb: read a reservation: %w", err)
	case len(found) == 0:
		return ledger.View{}, missing("reservation_id", "reservation %s", id)
	}
	return found[0], nil
}

// Reservations returns a page of a tenant's reservations with their lines, the oldest first. The next page starts after the last one's
// CreatedAt and ID.
func (r *Reader) Reservations(ctx context.Context, tenant ledger.TenantID, f ReservationFilter, p Page) ([]ledger.View, error) {
	sql, args := f.page(tenant, p)
	return list(ctx, r, tenant, collectViews, sql, args...)
}

// page is the statement of a page.
func (f *ReservationFilter) page(tenant ledger.TenantID, p Page) (sql string, args []any) {
	c := f.conditions(tenant)
	if f.Account != "" && !f.notOver() {
		return viewsSQL(f.pageOfLedger(c, p)), c.args
	}
	if !f.notOver() {
		c.add("t.taken_amount >= 0") // true of every one: what the indexes of all reservations ask for
	}
	c.after("t.created_at", "t.reservation_id", p.After)
	limit := c.arg(p.Size)
	// The planner merges what an index of each of the two tables gives it.
	return viewsSQL("SELECT t.*, t.created_at AS place FROM all_reservations t WHERE " + c.String() +
		" ORDER BY t.created_at, t.reservation_id LIMIT " + limit), c.args
}

// pageOfLedger finds the reservations of an account by the entries of its ledger that made them. Each balance has an order of its own, so each
// gives as many as the page has room for, and those that took nothing do too. They are sorted by their unit as well, which is the same for all of
// a part, because PostgreSQL does not see that of one that is NULL.
func (f *ReservationFilter) pageOfLedger(c *conditions, p Page) string {
	account := c.arg(string(f.Account))
	if p.After.ID != "" {
		c.add("e.entry_id > (SELECT entry_id FROM entries WHERE tenant_id = $1 AND event_key = %s)", ledger.ReserveKey(ledger.ReservationID(p.After.ID)))
	}
	limit := c.arg(p.Size)
	var parts []string
	for _, unit := range []string{"= 'CREDITS'", "= 'FREE_ATTEMPTS'", "IS NULL"} {
		parts = append(parts, "(SELECT t.*, e.entry_id AS place FROM entries e CROSS JOIN LATERAL ("+
			"SELECT r.* FROM all_reservations r WHERE r.tenant_id = $1 AND r.reservation_id = e.reservation_id OFFSET 0) t"+
			" WHERE e.tenant_id = $1 AND e.account_id = "+account+" AND e.unit "+unit+" AND e.event_type = 'RESERVED' AND "+c.String()+
			" ORDER BY e.unit, e.entry_id LIMIT "+limit+")")
	}
	return strings.Join(parts, " UNION ALL ") + " ORDER BY place LIMIT " + limit
}

func (f *ReservationFilter) conditions(tenant ledger.TenantID) *conditions {
	c := ofTenant(tenant)
	if len(f.IDs) > 0 {
		c.add("t.reservation_id = ANY (%s::text[])", sorted(f.IDs))
	}
	if f.Account != "" {
		c.add("t.account_id = %s", string(f.Account))
	}
	if f.Provider != "" {
		c.add("t.provider_id = %s", string(f.Provider))
	}
	if len(f.States) > 0 {
		c.add("t.state = ANY (%s::text[])", sorted(f.States))
	}
	if len(f.Outcomes) > 0 {
		c.add("t.outcome_kind = ANY (%s::text[])", sorted(f.Outcomes))
	}
	if f.OlderThan > 0 {
		c.add("t.created_at < (SELECT settlement_now()) - %s * interval '1 microsecond'", f.OlderThan.Microseconds())
	}
	if f.Overdue {
		c.add("t.outcome_kind IS NULL AND (t.overdue_since IS NOT NULL OR t.deadline <= (SELECT settlement_now()))")
	}
	if f.UnresolvedCost {
		c.add("t.outcome_kind IS NOT NULL")
	}
	if f.UnansweredCheck {
		c.parts = append(c.parts, "EXISTS (SELECT FROM lines l WHERE l.tenant_id = $1 AND l.reservation_id = t.reservation_id AND l."+ofAnyReservation+
			" AND l.kind = 'MODERATION' AND l.unresolved)")
	}
	if f.notOver() {
		c.add("t.budget_state = 'HELD'")
	}
	return c
}

// notOver tells whether the filter takes only reservations that are open or have a cost still unknown. There is an index of these.
func (f *ReservationFilter) notOver() bool {
	onlyOpen := len(f.States) > 0 && !slices.ContainsFunc(f.States, func(s ledger.State) bool { return !s.Open() })
	return f.Overdue || f.UnresolvedCost || onlyOpen
}

// collectViews reads rows of reservations, each repeated for every line it has.
func collectViews(rows pgx.Rows) ([]ledger.View, error) {
	defer rows.Close()
	var found []ledger.View
	var dests []any
	for rows.Next() {
		var row reservationRow
		var line ledger.Line
		dests = lines.dests(reservations.dests(dests[:0], &row), &line)
		if err := rows.Scan(dests...); err != nil {
			return nil, err
		}
		if n := len(found); n == 0 || found[n-1].ID != row.ID {
			found = append(found, ledger.View{Reservation: row.reservation()})
		}
		if line.Key != "" {
			v := &found[len(found)-1]
			v.Keys = append(v.Keys, line.Key)
			v.Lines = append(v.Lines, line)
		}
	}
	for i := range found {
		found[i] = ledger.NewView(found[i].Reservation, found[i].Lines)
	}
	return found, rows.Err()
}

// conditions are the parts of a WHERE with their arguments. Every list is of one tenant.
type conditions struct {
	parts []string
	args  []any
}

func ofTenant(tenant ledger.TenantID) *conditions {
	return &conditions{parts: []string{"t.tenant_id = $1"}, args: []any{string(tenant)}}
}

// arg adds an argument and returns its name.
func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return fmt.Sprintf("$%d", len(c.args))
}

// add adds a condition, in which %s stands for each value in turn.
func (c *conditions) add(format string, values ...any) {
	names := array(values, func(v *any) any { return c.arg(*v) })
	c.parts = append(c.parts, fmt.Sprintf(format, names...))
}

// after goes on behind a place in a list that is sorted by these columns.
func (c *conditions) after(at, id string, cursor Cursor) {
	if !cursor.At.IsZero() {
		c.add("("+at+", "+id+") > (%s, %s)", cursor.At, cursor.ID)
	}
}

// String joins the conditions.
func (c *conditions) String() string { return strings.Join(c.parts, " AND ") }
