package apptest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// Books are what all of the tenant's accounts, providers and budgets have. They are read behind the service's back.
type Books struct {
	Credits, CreditsHeld   int64
	Attempts, AttemptsHeld int64
	Slots                  int64 // in use
	InFlight, Uncertain    int64
	BudgetHeld, Spent      int64
}

// Books reads the tenant's books.
func (s *Service) Books(t testing.TB) Books {
	t.Helper()
	var b Books
	err := s.DB.Owner().QueryRow(t.Context(), `
		SELECT a.*, p.*, b.*
		FROM (SELECT coalesce(sum(credits_available), 0)::bigint, coalesce(sum(credits_held), 0)::bigint, coalesce(sum(free_attempts_available), 0)::bigint,
				coalesce(sum(free_attempts_held), 0)::bigint, coalesce(sum(slots_in_use), 0)::bigint FROM accounts WHERE tenant_id = $1) a,
			(SELECT coalesce(sum(in_flight), 0)::bigint, coalesce(sum(uncertain_in_flight), 0)::bigint FROM providers WHERE tenant_id = $1) p,
			(SELECT coalesce(sum(held_micros), 0)::bigint, coalesce(sum(spent_micros), 0)::bigint FROM budgets WHERE tenant_id = $1) b`, Tenant).
		Scan(&b.Credits, &b.CreditsHeld, &b.Attempts, &b.AttemptsHeld, &b.Slots, &b.InFlight, &b.Uncertain, &b.BudgetHeld, &b.Spent)
	if err != nil {
		t.Fatalf("read the books: %v", err)
	}
	return b
}

// WantBooks compares the tenant's books.
func (s *Service) WantBooks(t testing.TB, want Books) {
	t.Helper()
	if diff := cmp.Diff(want, s.Books(t)); diff != "" {
		t.Errorf("the books are not as wanted (-want +got):\n%s", diff)
	}
}

// Every table that a call may write.
const (
	money = "tenants accounts providers budgets reservations archived_reservations lines entries"
	all   = money + " exceptions jobs job_targets job_audit"
)

// Copy is everything that the tables said at one moment.
type Copy map[string]string

// Copy reads every row of every tenant behind the service's back.
func (s *Service) Copy(t testing.TB) Copy {
	t.Helper()
	c := Copy{}
	for _, table := range strings.Fields(all) {
		c[table] = postgrestest.Value[string](s.DB,
			fmt.Sprintf(`SELECT coalesce(string_agg(to_jsonb(x)::text, E'\n' ORDER BY to_jsonb(x)::text), '') FROM %s x`, table))
	}
	return c
}

// Unchanged fails the test if any row has changed since the copy was made.
func (s *Service) Unchanged(t testing.TB, since Copy) {
	t.Helper()
	s.unchanged(t, since, all)
}

// Unmoved fails the test if anything but exceptions has changed since the copy was made.
func (s *Service) Unmoved(t testing.TB, since Copy) {
	t.Helper()
	s.unchanged(t, since, money)
}

func (s *Service) unchanged(t testing.TB, since Copy, tables string) {
	t.Helper()
	now := s.Copy(t)
	for _, table := range strings.Fields(tables) {
		if diff := cmp.Diff(strings.Split(since[table], "\n"), strings.Split(now[table], "\n")); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", table, diff)
		}
	}
}

// Entries counts the events of a reservation, of one type where one is named.
func (s *Service) Entries(t testing.TB, id string, eventType ...string) int64 {
	t.Helper()
	return postgrestest.Value[int64](s.DB,
		`SELECT count(*) FROM entries WHERE tenant_id = $1 AND reservation_id = $2 AND (cardinality($3::text[]) = 0 OR event_type = ANY ($3))`,
		Tenant, id, append([]string{}, eventType...))
}

// Exception is a fact that could not be applied, as the table has it.
type Exception struct {
	Key, Reason string
	Cost        int64 // -1: none
	Count       int64
}

// Exceptions reads what is kept of facts about a reservation that could not be applied, in the order of reason and key.
func (s *Service) Exceptions(t testing.TB, id string) []Exception {
	t.Helper()
	rows, err := s.DB.Owner().Query(t.Context(), `SELECT request_key, reason, coalesce(cost_micros, -1), count FROM exceptions
		WHERE tenant_id = $1 AND reservation_id = $2 ORDER BY reason COLLATE "C", request_key, exception_id`, Tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var found []Exception
	for rows.Next() {
		var e Exception
		if err := rows.Scan(&e.Key, &e.Reason, &e.Cost, &e.Count); err != nil {
			t.Fatal(err)
		}
		found = append(found, e)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// WantExceptions compares what is kept of facts about a reservation that could not be applied.
func (s *Service) WantExceptions(t testing.TB, id string, want ...Exception) {
	t.Helper()
	if diff := cmp.Diff(want, s.Exceptions(t, id)); diff != "" {
		t.Errorf("exceptions of %s (-want +got):\n%s", id, diff)
	}
}

// StopClock stops the database's clock at a moment, for every server on it.
func (s *Service) StopClock(at time.Time) {
	s.DB.Exec(fmt.Sprintf(`CREATE OR REPLACE FUNCTION settlement_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		RETURN timestamptz '%s'`, at.UTC().Format("2006-01-02 15:04:05.999999+00")))
}
