package ledgerdb

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/postgres"
)

// stamp are the columns of a reservation that never change.
var stamp = []string{
	"tenant_id", "reservation_id", "account_id", "provider_id", "funding_kind", "credits_asked", "budget_micros", "currency",
	"ttl_seconds_asked", "submission_key", "labels", "taken_unit", "taken_amount", "period_start", "permit_seconds",
	"not_received_after_seconds", "idempotency_key_seconds", "max_age_seconds", "output_check_required", "output_rejection_captures",
	"authoritative_observer", "created_at",
}

// identities are the columns of each table that never change, whoever asks.
var identities = map[string][]string{
	"tenants":               {"tenant_id", "created_at"},
	"accounts":              {"tenant_id", "account_id", "created_at"},
	"providers":             {"tenant_id", "provider_id", "currency", "budget_period", "time_zone", "created_at"},
	"budgets":               {"tenant_id", "provider_id", "period_start"},
	"reservations":          stamp,
	"archived_reservations": stamp,
	"lines": {
		"tenant_id", "request_key", "reservation_id", "provider_id", "kind", "stage", "permit_token", "permitted_at", "resend_until",
		"check_timeout_seconds",
	},
	"entries": {
		"tenant_id", "event_key", "event_type", "account_id", "reservation_id", "revision", "unit", "available_before",
		"available_after", "held_before", "held_after", "budget_held_change", "budget_spent_change", "detail", "created_at",
	},
	"exceptions": {
		"tenant_id", "exception_id", "reservation_id", "request_key", "reason", "fact", "cost_micros", "currency", "observer", "first_seen_at",
	},
	"jobs": {
		"tenant_id", "job_id", "action", "chunk_size", "total", "manifest_hash", "registered_by", "registered_at",
	},
	"job_targets": {"tenant_id", "job_id", "ordinal", "reservation_id", "revision", "taken_unit", "taken_amount"},
	"job_audit": {
		"tenant_id", "job_id", "ordinal", "reservation_id", "previous_revision", "new_revision", "taken_unit", "taken_amount", "created_at",
	},
	"statements": {"tenant_id", "provider_id", "statement_id", "period_start", "period_end", "created_at"},
	"statement_lines": {
		"tenant_id", "provider_id", "statement_id", "line_number", "content_hash", "verdict", "request_key", "provider_task_id", "reservation_id",
		"cost_micros", "currency", "recorded_micros", "exception_id", "reason",
	},
}

// growing are changes that knowledge, outcomes and resolutions do not allow, in columns that otherwise change.
var growing = []string{
	"UPDATE lines SET knowledge = 'FAILED' WHERE request_key = 'k1'",
	"UPDATE lines SET knowledge = 'PERMITTED' WHERE request_key = 'k3'",
	"UPDATE lines SET knowledge = 'UNCERTAIN' WHERE request_key = 'k7'",
	"UPDATE lines SET knowledge = 'NOT_ACCEPTED' WHERE request_key = 'k7'",
	"UPDATE lines SET cost_micros = 38 WHERE request_key = 'k1'",
	"UPDATE lines SET cost_micros = NULL WHERE request_key = 'k1'",
	"UPDATE lines SET provider_task_id = 'another' WHERE request_key = 'k1'",
	"UPDATE lines SET provider_task_id = NULL WHERE request_key = 'k1'",
	"UPDATE lines SET resent_at = NULL WHERE request_key = 'k6b'",
	"UPDATE lines SET permit_expires_at = permitted_at WHERE request_key = 'k3'",
	"UPDATE reservations SET state = 'FAILED', outcome_kind = 'GIVEN_UP' WHERE reservation_id = 'r1'",
	"UPDATE reservations SET outcome_code = 'another' WHERE reservation_id = 'r2'",
	"UPDATE reservations SET outcome_categories = NULL WHERE reservation_id = 'r5'",
	"UPDATE reservations SET credits_captured = 8 WHERE reservation_id = 'r1'",
	"UPDATE reservations SET settled_at = settled_at + interval '1 second' WHERE reservation_id = 'r1'",
	"UPDATE reservations SET budget_state = 'HELD' WHERE reservation_id = 'r1'",
	"UPDATE reservations SET revision = 0 WHERE reservation_id = 'r1'",
	"UPDATE archived_reservations SET state = 'EXPIRED', outcome_kind = 'EXPIRED'",
	"UPDATE archived_reservations SET outcome_cause = 'another'",
	"UPDATE archived_reservations SET credits_captured = 1, credit_state = 'CAPTURED'",
	"UPDATE archived_reservations SET budget_state = 'HELD'",
	"UPDATE archived_reservations SET revision = 0",
	"UPDATE exceptions SET resolution = 'DISMISSED'",
	"UPDATE exceptions SET resolution = NULL, resolved_at = NULL",
	"UPDATE exceptions SET count = 0",
	"UPDATE jobs SET next_index = 0, progressed_at = NULL",
	"UPDATE jobs SET approved_by = 'eve'",
	"UPDATE jobs SET approved_at = NULL, approved_by = NULL",
	"UPDATE statements SET lines_through = 4",
	"UPDATE statements SET lines = 1, unknown_to_us = 0",
}

// History is kept by privileges and, whoever asks, by triggers.
func TestHistoryIsNeverRewritten(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	const noPrivilege, guarded = "42501", "SD002"
	for table, columns := range identities {
		statements := []string{"DELETE FROM " + table, "TRUNCATE " + table + " CASCADE"}
		for _, c := range columns {
			statements = append(statements, fmt.Sprintf("UPDATE %s SET %s = %s", table, c, c))
		}
		for _, sql := range statements {
			if sql == "DELETE FROM reservations" { // what it has archived it may
				w.refused(w.db.Read(), sql, guarded)
				continue
			}
			w.refused(w.db.Read(), sql, noPrivilege)
			w.refused(w.db.Owner(), sql, guarded)
		}
	}
	for _, sql := range growing {
		w.refused(w.db.Read(), sql, guarded)
		w.refused(w.db.Owner(), sql, guarded)
	}
	w.refused(w.db.Read(), "ALTER TABLE lines DISABLE TRIGGER ALL", noPrivilege)
	w.refused(w.db.Read(), "CREATE OR REPLACE FUNCTION settlement_now() RETURNS timestamptz LANGUAGE sql RETURN now()", noPrivilege)
	if found := w.verify(); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func (w *world) refused(as *pgxpool.Pool, sql, state string) {
	w.t.Helper()
	_, err := as.Exec(w.t.Context(), sql)
	if got := postgres.SQLState(err); got != state {
		w.t.Errorf("%s: %q instead of %q: %v", sql, got, state, err)
	}
}

// No row that contradicts itself gets in, whoever writes it.
func TestRowsThatContradictThemselvesAreRefused(t *testing.T) {
	t.Parallel()
	w := newHistory(t)
	for constraint, sql := range map[string]string{
		"credits_never_negative":           "UPDATE accounts SET credits_available = -1",
		"credits_within_bounds":            "UPDATE accounts SET credits_available = 1000000000000001",
		"free_attempts_never_negative":     "UPDATE accounts SET free_attempts_held = -1",
		"free_attempts_within_bounds":      "UPDATE accounts SET free_attempts_held = 1000000000000001",
		"slots_never_negative":             "UPDATE accounts SET slots_in_use = -1",
		"in_flight_never_negative":         "UPDATE providers SET in_flight = -1, uncertain_in_flight = -1",
		"uncertain_are_in_flight":          "UPDATE providers SET uncertain_in_flight = in_flight + 1",
		"settings_never_negative":          "UPDATE providers SET permit_seconds = -1",
		"budget_limit_within_bounds":       "UPDATE providers SET budget_limit_micros = 1000000000000001",
		"limit_within_bounds":              "UPDATE budgets SET limit_micros = -1",
		"held_never_negative":              "UPDATE budgets SET held_micros = -1",
		"spent_never_negative":             "UPDATE budgets SET spent_micros = -1",
		"period_starts_in_1970_or_later":   "INSERT INTO budgets VALUES ('acme', 'imagen', '0001-01-01', 0, 0, 0)",
		"state_and_outcome_are_a_pair":     "UPDATE reservations SET state = 'EXPIRED' WHERE reservation_id = 'r3'",
		"holds_follow_the_outcome":         "UPDATE reservations SET slot_state = 'RELEASED' WHERE reservation_id = 'r3'",
		"captured_at_most_taken":           "UPDATE reservations SET credits_captured = 11 WHERE reservation_id = 'r3'",
		"settled_exactly_when_ended":       "UPDATE reservations SET settled_at = now() WHERE reservation_id = 'r3'",
		"outcome_words_are_known":          "UPDATE reservations SET outcome_stage = 'BEFORE' WHERE reservation_id = 'r3'",
		"knowledge_is_known":               "UPDATE lines SET knowledge = 'GUESSED' WHERE request_key = 'k3'",
		"cost_within_bounds":               "UPDATE lines SET cost_micros = 1000000000000001 WHERE request_key = 'k3'",
		"what_never_arrived_costs_nothing": "UPDATE lines SET knowledge = 'NOT_RECEIVED', cost_micros = 1 WHERE request_key = 'k3'",
		"adjusted_cost_never_negative":     "UPDATE lines SET cost_adjustment_micros = -38 WHERE request_key = 'k1'",
		"attempts_count_from_one": `INSERT INTO lines (tenant_id, request_key, reservation_id, provider_id, kind, attempt, permitted_at, knowledge,
			permit_expires_at, cost_adjustment_micros, updated_at) VALUES ('acme', 'k3b', 'r3', 'imagen', 'GENERATION', 0, now(), 'PERMITTED', now(), 0, now())`,
		"one_attempt_at_a_time": `INSERT INTO lines (tenant_id, request_key, reservation_id, provider_id, kind, permitted_at, knowledge,
			permit_expires_at, cost_adjustment_micros, updated_at) VALUES ('acme', 'k3b', 'r3', 'imagen', 'GENERATION', now(), 'PERMITTED', now(), 0, now())`,
		"one_line_per_task_of_a_provider": "UPDATE lines SET provider_task_id = 't7' WHERE request_key = 'k3'",
		"movements_are_whole": `INSERT INTO entries (tenant_id, event_key, event_type, account_id, unit, budget_held_change, budget_spent_change, created_at)
			VALUES ('acme', 'x', 'CREDITS_GRANTED', 'alice', 'CREDITS', 0, 0, now())`,
		"event_type_is_known": `INSERT INTO entries (tenant_id, event_key, event_type, account_id, budget_held_change, budget_spent_change, created_at)
			VALUES ('acme', 'x', 'DREAMT', 'alice', 0, 0, now())`,
		"progress_needs_approval":                  "INSERT INTO jobs VALUES ('acme', 'j2', 'CANCEL', 1, 1, repeat('0', 64), 'ann', now(), NULL, NULL, 1, now())",
		"progress_stops_between_chunks":            "INSERT INTO jobs VALUES ('acme', 'j2', 'CANCEL', 2, 3, repeat('0', 64), 'ann', now(), 'bob', now(), 1, now())",
		"progress_has_a_time":                      "INSERT INTO jobs VALUES ('acme', 'j2', 'CANCEL', 2, 3, repeat('0', 64), 'ann', now(), 'bob', now(), 2, NULL)",
		"approved_by_somebody":                     "INSERT INTO jobs VALUES ('acme', 'j2', 'CANCEL', 1, 1, repeat('0', 64), 'ann', now(), 'bob', NULL, 0, NULL)",
		"action_is_known":                          "INSERT INTO jobs VALUES ('acme', 'j2', 'ERASE', 1, 1, repeat('0', 64), 'ann', now(), NULL, NULL, 0, NULL)",
		"chunks_are_bounded":                       "INSERT INTO jobs VALUES ('acme', 'j2', 'CANCEL', 1001, 1, repeat('0', 64), 'ann', now(), NULL, NULL, 0, NULL)",
		"targets_are_bounded":                      "INSERT INTO jobs VALUES ('acme', 'j2', 'CANCEL', 1, 10001, repeat('0', 64), 'ann', now(), NULL, NULL, 0, NULL)",
		"manifest_hash_is_sha256":                  "INSERT INTO jobs VALUES ('acme', 'j2', 'CANCEL', 1, 1, repeat('G', 64), 'ann', now(), NULL, NULL, 0, NULL)",
		"target_ordinal_within_bounds":             "INSERT INTO job_targets VALUES ('acme', 'j1', -1, 'r3', 0, 'CREDITS', 1)",
		"target_revision_can_grow":                 "INSERT INTO job_targets VALUES ('acme', 'j1', 2, 'r3', 2147483647, 'CREDITS', 1)",
		"target_taken_within_bounds":               "INSERT INTO job_targets VALUES ('acme', 'j1', 2, 'r3', 0, 'FREE_ATTEMPTS', 2)",
		"one_target_per_reservation":               "INSERT INTO job_targets VALUES ('acme', 'j1', 2, 'r8', 0, 'CREDITS', 1)",
		"a_change_is_one_revision":                 "INSERT INTO job_audit VALUES ('acme', 'j1', 1, 'r9', 0, 2, 'CREDITS', 10, now())",
		"one_audit_per_reservation":                "INSERT INTO job_audit VALUES ('acme', 'j1', 1, 'r8', 0, 1, 'CREDITS', 10, now())",
		"job_audit_tenant_id_job_id_fkey":          "INSERT INTO job_audit VALUES ('acme', 'j9', 2, 'r9', 0, 1, 'CREDITS', 10, now())",
		"period_ends_after_it_starts":              "INSERT INTO statements VALUES ('acme', 'imagen', 'x', now(), now(), now(), 0, 0, 0, 0, 0, 0, 0, 0, 0, now(), NULL)",
		"every_line_has_one_verdict":               "UPDATE statements SET lines = 3",
		"checkpoint_is_behind_the_lines":           "UPDATE statements SET lines = 6, bad = 4",
		"repeated_are_known_and_known_are_matched": "UPDATE statements SET already_known = 2",
		"statement_counts_never_negative":          "UPDATE statements SET unknown_to_them = -1",
		"lines_count_from_one":                     "INSERT INTO statement_lines VALUES ('acme', 'imagen', 'may', 0, '', 'BAD')",
		"verdict_is_known":                         "INSERT INTO statement_lines VALUES ('acme', 'imagen', 'may', 6, '', 'FINE')",
		"a_match_has_a_request":                    "INSERT INTO statement_lines VALUES ('acme', 'imagen', 'may', 6, '', 'KNOWN', 'k5')",
		"statement_cost_within_bounds":             "INSERT INTO statement_lines VALUES ('acme', 'imagen', 'may', 6, '', 'BAD', NULL, NULL, NULL, -1)",
		"statement_lines_pkey":                     "INSERT INTO statement_lines VALUES ('acme', 'imagen', 'may', 5, '', 'BAD')",
		"seen_at_least_once":                       "UPDATE exceptions SET last_seen_at = first_seen_at - interval '1 second'",
	} {
		_, err := w.db.Read().Exec(t.Context(), sql)
		if got := postgres.Constraint(err); got != constraint {
			t.Errorf("%s: %q: %v", constraint, got, err)
		}
	}
}
