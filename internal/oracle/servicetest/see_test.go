package servicetest

import (
	"slices"
	"strconv"
	"strings"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/oracle"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// seenSQL reads what every actor's rows say, behind the service's back: the counters of its account, provider and budget, its events and
// exceptions, and a fingerprint of all its rows but exceptions and the evidence that a view shows.
const seenSQL = `
	SELECT a.account_id, a.credits_available, a.credits_held, a.free_attempts_available, a.free_attempts_held, a.slots_in_use,
		p.in_flight, p.uncertain_in_flight, coalesce(b.held_micros, 0), coalesce(b.spent_micros, 0),
		coalesce(r.revision, -1)::bigint, o.reservation_id IS NOT NULL, coalesce(e.types, '{}'), coalesce(x.reasons, '{}'),
		md5(concat_ws('|', a::text, p::text, b::text, r::text, l.rows, e.n))
	FROM accounts a
	JOIN providers p ON p.tenant_id = a.tenant_id AND p.provider_id = a.account_id
	LEFT JOIN budgets b ON b.tenant_id = a.tenant_id AND b.provider_id = a.account_id
	LEFT JOIN all_reservations r ON r.tenant_id = a.tenant_id AND r.reservation_id = a.account_id
	LEFT JOIN all_reservations o ON o.tenant_id = a.tenant_id AND o.reservation_id = a.account_id || '-another'
	LEFT JOIN (SELECT reservation_id, string_agg((to_jsonb(l) - 'last_evidence')::text, '|' ORDER BY request_key) rows
		FROM lines l GROUP BY reservation_id) l ON l.reservation_id = a.account_id
	LEFT JOIN (SELECT account_id, count(*) n, array_agg(event_type ORDER BY entry_id) FILTER (WHERE reservation_id = account_id) types
		FROM entries GROUP BY account_id) e ON e.account_id = a.account_id
	LEFT JOIN (SELECT reservation_id, array_agg(reason || ' ' || count) reasons
		FROM exceptions GROUP BY reservation_id) x ON x.reservation_id = a.account_id
	WHERE a.tenant_id = $1 AND a.account_id <> $2`

// see looks at all actors at once.
func (g *stage) see() map[string]oracle.Seen {
	g.t.Helper()
	views := g.views()
	rows, err := g.s.DB.Owner().Query(g.t.Context(), seenSQL, apptest.Tenant, bystander)
	if err != nil {
		g.t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]oracle.Seen{}
	for rows.Next() {
		var name string
		var another bool
		var reasons []string
		var s oracle.Seen
		b := &s.Balances
		if err := rows.Scan(&name, &b.CreditsAvailable, &b.CreditsHeld, &b.FreeAttemptsAvailable, &b.FreeAttemptsHeld, &b.SlotsInUse,
			&b.InFlight, &b.UncertainInFlight, &b.BudgetHeld, &b.BudgetSpent, &s.Revision, &another, &s.Events, &reasons, &s.Rows); err != nil {
			g.t.Fatal(err)
		}
		for _, r := range reasons {
			reason, count, _ := strings.Cut(r, " ")
			n, _ := strconv.Atoi(count)
			s.Exceptions = append(s.Exceptions, slices.Repeat([]string{reason}, n)...)
		}
		if s.View = views[name]; s.View == nil {
			s.View = oracle.View{}
		}
		mark(s.View, oracle.Another, "RESERVED", another)
		all[name] = s
	}
	if err := rows.Err(); err != nil {
		g.t.Fatal(err)
	}
	return all
}

// views asks the service for every actor's reservation.
func (g *stage) views() map[string]oracle.View {
	g.t.Helper()
	actors := map[string]*actor{}
	for _, a := range g.actors {
		actors[a.name] = a
	}
	views := map[string]oracle.View{}
	size := int32(1000)
	req := &settlementv1.ListReservationsRequest{TenantId: apptest.Tenant, PageSize: &size}
	for {
		page, err := g.s.Reservations.ListReservations(g.t.Context(), req)
		if err != nil {
			g.t.Fatal(err)
		}
		for _, r := range page.GetReservations() {
			if a := actors[r.GetReservationId()]; a != nil {
				views[a.name] = a.view(r)
			}
		}
		if page.GetNextPageToken() == "" {
			return views
		}
		req.PageToken = page.GetNextPageToken()
	}
}

// bystanders is a fingerprint of everything that no actor may touch.
func (g *stage) bystanders() string {
	return postgrestest.Value[string](g.s.DB, `SELECT md5(concat_ws('|',
		(SELECT a::text FROM accounts a WHERE account_id = $1), (SELECT p::text FROM providers p WHERE provider_id = $1),
		(SELECT b::text FROM budgets b WHERE provider_id = $1),
		(SELECT string_agg(r::text, '|' ORDER BY reservation_id) FROM reservations r WHERE account_id = $1),
		(SELECT string_agg(l::text, '|' ORDER BY request_key) FROM lines l WHERE provider_id = $1),
		(SELECT count(*) FROM entries WHERE account_id = $1)))`, bystander)
}
