package ledgerdb

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

func TestNothingIsBrokenByWhatHappens(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	if found := w.verify(); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	if _, err := Verify(t.Context(), w.db.Read(), "nobody"); !notFound(err) {
		t.Errorf("a tenant that is not there: %v", err)
	}
}

// breaks says for each invariant how SQL can break it, and what verify then tells of it.
var breaks = map[string]struct {
	sql  string
	want Finding
}{
	"balances_match_the_ledger": {
		"UPDATE accounts SET credits_available = credits_available + 5",
		Finding{Where: "alice CREDITS available", Expected: "99953", Actual: "99958 (+5)"},
	},
	"movements_follow_each_other": {
		"UPDATE entries SET available_before = available_before - 1, available_after = available_after - 1 WHERE event_key = 'reserve r2'",
		Finding{Where: "alice CREDITS entry 6", Expected: "99993 and 0", Actual: "99992 and 0"},
	},
	"held_matches_the_holds": {
		"UPDATE accounts SET credits_held = credits_held - 10",
		Finding{Where: "alice CREDITS", Expected: "40", Actual: "30 (-10)"},
	},
	"slots_match_the_holds": {
		"UPDATE accounts SET slots_in_use = slots_in_use + 1",
		Finding{Where: "alice", Expected: "4", Actual: "5 (+1)"},
	},
	"nothing_is_negative": {
		"ALTER TABLE accounts DROP CONSTRAINT slots_never_negative; UPDATE accounts SET slots_in_use = -1",
		Finding{Where: "account alice", Expected: "not negative", Actual: "-1"},
	},
	"in_flight_matches_the_holds": {
		"UPDATE providers SET in_flight = in_flight + 2",
		Finding{Where: "imagen", Expected: "4", Actual: "6 (+2)"},
	},
	"uncertain_matches_the_states": {
		"UPDATE providers SET uncertain_in_flight = 0",
		Finding{Where: "imagen", Expected: "1", Actual: "0 (-1)"},
	},
	"budget_held_matches_the_holds": {
		"UPDATE budgets SET held_micros = held_micros - 200",
		Finding{Expected: "1000", Actual: "800 (-200)"},
	},
	"budget_spent_matches_the_costs": {
		"UPDATE budgets SET spent_micros = spent_micros + 1",
		Finding{Expected: "52", Actual: "53 (+1)"},
	},
	"an_end_is_whole": {
		"ALTER TABLE reservations DROP CONSTRAINT holds_follow_the_outcome; UPDATE reservations SET slot_state = 'HELD' WHERE reservation_id = 'r1'",
		Finding{Where: "r1", Expected: "outcome, CAPTURED RELEASED", Actual: "outcome, CAPTURED HELD"},
	},
	"an_outcome_leads_to_its_state": {
		"ALTER TABLE reservations DROP CONSTRAINT state_and_outcome_are_a_pair; UPDATE reservations SET state = 'COMPLETED' WHERE reservation_id = 'r2'",
		Finding{Where: "r2", Expected: "FAILED", Actual: "COMPLETED"},
	},
	"a_capture_is_what_the_outcome_says": {
		"UPDATE reservations SET credits_captured = 8 WHERE reservation_id = 'r1'",
		Finding{Where: "r1", Expected: "7", Actual: "8 (+1)"},
	},
	"a_budget_hold_ends_with_the_last_cost": {
		"UPDATE reservations SET budget_state = 'ENDED' WHERE reservation_id = 'r2'",
		Finding{Where: "r2", Expected: "HELD", Actual: "ENDED"},
	},
	"every_change_has_one_event": {
		"DELETE FROM entries WHERE event_key = 'change r3 1'",
		Finding{Where: "r3", Expected: "0..1, once each", Actual: "0..0, once each"},
	},
	"reservations_name_what_exists": {
		"UPDATE reservations SET account_id = 'nobody' WHERE reservation_id = 'r3'",
		Finding{Where: "r3", Expected: "account nobody, budget of imagen", Actual: "no account, budget of imagen"},
	},
	"exceptions_name_what_exists": {
		"UPDATE exceptions SET reservation_id = 'r9'",
		Finding{Expected: "r9"},
	},
	"entries_name_what_exists": {
		"UPDATE entries SET reservation_id = 'r9' WHERE event_key = 'change r3 1'",
		Finding{Expected: "account alice, reservation r9 of alice", Actual: "account alice, no reservation"},
	},
	"events_are_keyed_by_their_change": {
		"UPDATE entries SET event_key = 'change r3 9' WHERE event_key = 'change r3 1'",
		Finding{Expected: "change r3 1", Actual: "change r3 9"},
	},
	"an_end_has_one_event": {
		"UPDATE entries SET event_type = 'COMPLETED' WHERE event_key = 'end r2'",
		Finding{Where: "r2", Expected: "PROVIDER_FAILED", Actual: "COMPLETED"},
	},
	"movements_match_their_reservation": {
		"UPDATE entries SET unit = 'FREE_ATTEMPTS' WHERE event_key = 'end r2'",
		Finding{Where: "r2", Expected: "available 0, held 0 of alice", Actual: "available -10, held 10 of alice"},
	},
	"budget_changes_match_their_reservation": {
		"UPDATE entries SET budget_held_change = 0 WHERE event_key = 'end r1'",
		Finding{Where: "r1", Expected: "held 0, spent 37", Actual: "held 200, spent 37"},
	},
	"a_reservation_is_in_one_place": {
		"ALTER TABLE archived_reservations ALTER due_at DROP EXPRESSION; INSERT INTO archived_reservations SELECT * FROM reservations WHERE reservation_id = 'r1'",
		Finding{Where: "r1", Expected: "archived", Actual: "in both tables"},
	},
	"archived_reservations_are_over": {
		"ALTER TABLE archived_reservations DROP CONSTRAINT archived_reservations_are_over; UPDATE archived_reservations SET budget_state = 'HELD'",
		Finding{Where: "r8", Expected: "outcome, budget ENDED, 0 unresolved", Actual: "outcome, budget HELD, 0 unresolved"},
	},
	"open_states_follow_the_journal": {
		"UPDATE reservations SET state = 'PROCESSING' WHERE reservation_id = 'r3'",
		Finding{Where: "r3", Expected: "UNCERTAIN", Actual: "PROCESSING"},
	},
	"one_request_at_a_time": {
		"UPDATE lines SET knowledge = 'SUCCEEDED' WHERE request_key = 'k6'",
		Finding{Where: "r6 GENERATION", Expected: "1", Actual: "2 (+1)"},
	},
	"attempts_follow_one_another": {
		"UPDATE lines SET attempt = 7 WHERE request_key = 'k3'",
		Finding{Where: "r3 GENERATION", Expected: "1..1, at most the last unresolved", Actual: "7..7, at most the last unresolved"},
	},
	"lines_match_their_reservation": {
		"UPDATE lines SET provider_id = 'another' WHERE request_key = 'k3'",
		Finding{Where: "k3", Expected: "imagen", Actual: "another"},
	},
	"a_granted_key_is_in_the_journal": {
		"DELETE FROM lines WHERE request_key = 'k3'",
		Finding{Where: "r3", Expected: "k3"},
	},
	"what_never_arrived_costs_nothing": {
		"ALTER TABLE lines DROP CONSTRAINT what_never_arrived_costs_nothing; UPDATE lines SET cost_micros = 3 WHERE request_key = 'k6'",
		Finding{Where: "k6", Expected: "0", Actual: "3 (+3)"},
	},
	"a_task_belongs_to_one_line": {
		"DROP INDEX one_line_per_task_of_a_provider; UPDATE lines SET provider_task_id = 't7' WHERE request_key = 'k3'",
		Finding{Where: "imagen t7", Expected: "1", Actual: "2 (+1)"},
	},
	"adjustments_match_their_entries": {
		"UPDATE lines SET cost_adjustment_micros = 4 WHERE request_key = 'k1'",
		Finding{Where: "k1", Expected: "3", Actual: "4 (+1)"},
	},
	"an_applied_exception_has_one_entry": {
		"UPDATE exceptions SET resolution = 'DISMISSED'",
		Finding{Expected: "0", Actual: "1 (+1)"},
	},
	"a_manifest_is_what_was_approved": {
		"UPDATE job_targets SET taken_amount = 11 WHERE reservation_id = 'r9'",
		Finding{Where: "j1", Expected: "2 targets, " + jobHash, Actual: "2 targets, 47acba4f702ee3a2456fa81603b955088ac3df6616372789febac1acc127a709"},
	},
	"targets_are_in_the_order_of_their_ids": {
		"UPDATE job_targets SET ordinal = 2 WHERE reservation_id = 'r9'",
		Finding{Where: "j1 r9", Expected: "1", Actual: "2 (+1)"},
	},
	"progress_stops_between_chunks": {
		"ALTER TABLE jobs DROP CONSTRAINT progress_stops_between_chunks; UPDATE jobs SET next_index = 3",
		Finding{Where: "j1", Expected: "2", Actual: "3 (+1)"},
	},
	"only_approved_jobs_run": {
		"ALTER TABLE jobs DROP CONSTRAINT progress_needs_approval; UPDATE jobs SET approved_by = NULL, approved_at = NULL",
		Finding{Where: "j1", Expected: "approved", Actual: "not approved"},
	},
	"an_audit_is_the_beginning_of_its_manifest": {
		"UPDATE jobs SET next_index = 2",
		Finding{Where: "j1 1", Expected: "r9 from 0 to 1, 10 CREDITS"},
	},
	"an_audit_is_in_the_ledger": {
		"DELETE FROM job_audit",
		Finding{Where: "r8", Actual: "CANCELLED by j1 at revision 1"},
	},
	"a_statement_is_the_sum_of_its_lines": {
		"UPDATE statement_lines SET verdict = 'BAD' WHERE line_number = 5",
		Finding{
			Where:    "imagen may",
			Expected: "2 lines up to 5: 1 matched, 0 known, 0 repeated, 0 mismatched, 0 unknown, 1 bad",
			Actual:   "2 lines up to 5: 1 matched, 0 known, 0 repeated, 0 mismatched, 1 unknown, 0 bad",
		},
	},
	"what_a_statement_made_known_is_on_record": {
		"UPDATE lines SET cost_micros = 13 WHERE request_key = 'k5'",
		Finding{Where: "imagen may line 2", Expected: "12", Actual: "13 (+1)"},
	},
	"guards_are_on": {
		"ALTER TABLE lines DISABLE TRIGGER knowledge_only_grows",
		Finding{Where: "lines knowledge_only_grows", Expected: "on", Actual: "off"},
	},
	"the_service_may_not_rewrite_history": {
		"GRANT UPDATE ON entries TO settlementd_service",
		Finding{Where: "entries UPDATE", Expected: "no", Actual: "yes"},
	},
}

func TestVerifyNamesWhatIsBroken(t *testing.T) {
	t.Parallel()
	for _, i := range Invariants() {
		b, ok := breaks[i.Name]
		if !ok {
			t.Errorf("nothing breaks %s", i.Name)
			continue
		}
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			w := newHistory(t)
			w.unguarded(b.sql)
			found := w.verify()
			at := slices.IndexFunc(found, func(f Finding) bool { return f.Invariant == i.Name })
			if at < 0 {
				t.Fatalf("verify found %+v", found)
			}
			b.want.Invariant = i.Name
			if b.want.Where == "" { // it depends on the day
				b.want.Where = found[at].Where
			}
			if diff := cmp.Diff(b.want, found[at]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// unguarded runs SQL as the owner with every trigger off, foreign keys included.
func (w *world) unguarded(sql string) {
	w.t.Helper()
	w.db.Exec("SET session_replication_role = replica; " + sql + "; RESET session_replication_role")
}

func TestVerifyIsOfOneTenant(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	if _, err := NewReader(w.db.Read()).CreateTenant(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	w.unguarded("UPDATE accounts SET slots_in_use = slots_in_use + 1")
	found, err := Verify(t.Context(), w.db.Read(), ledger.TenantID("other"))
	if err != nil || len(found) > 0 {
		t.Errorf("another tenant: %+v, %v", found, err)
	}
}

// No query compares every row of a table with every row of another: on a large ledger it would not end.
func TestVerifyReadsEachTableOnce(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	w := newGrownWorld(t, rows)
	w.db.Exec("ANALYZE")
	tx, err := w.db.Read().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), verifySettings); err != nil {
		t.Fatal(err)
	}
	removed := regexp.MustCompile(`Rows Removed by Join Filter: (\d+)`)
	for _, i := range Invariants() {
		lines, err := tx.Query(t.Context(), "EXPLAIN ANALYZE "+i.sql(), pgx.QueryExecModeExec, string(tenant))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := pgx.CollectRows(lines, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", i.Name, err)
		}
		for _, m := range removed.FindAllStringSubmatch(strings.Join(plan, "\n"), -1) {
			if n, err := strconv.Atoi(m[1]); err != nil || n > 10*rows {
				t.Errorf("%s compares %d pairs of rows that have nothing to do with each other:\n%s", i.Name, n, strings.Join(plan, "\n"))
			}
		}
	}
}
