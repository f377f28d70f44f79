-- +goose Up

-- Reservations that are over and that nobody is likely to ask about again, out of the way of those that are not. It is the same row, with
-- the same checks and the same guards, in another table: replays, late facts and reports find it here, and what may still change of it
-- changes here. Lines, entries, exceptions and audits stay where they are. A reservation is in one of the two tables, never in both.

CREATE TABLE archived_reservations (
    LIKE reservations INCLUDING CONSTRAINTS INCLUDING GENERATED,

    PRIMARY KEY (tenant_id, reservation_id),
    -- No fact takes either back, so a row that was fit for the archive once is fit for ever.
    CONSTRAINT archived_reservations_are_over CHECK (outcome_kind IS NOT NULL AND budget_state = 'ENDED')
);

-- Lists: everything, and everything of an account. The condition is true of every row, so that only a statement that repeats it can be led
-- there.
CREATE INDEX archived_reservations_by_creation ON archived_reservations (tenant_id, created_at, reservation_id) WHERE taken_amount >= 0;
CREATE INDEX archived_reservations_by_account ON archived_reservations (tenant_id, account_id, created_at, reservation_id) WHERE taken_amount >= 0;

-- Whoever only reads looks at both as one.

CREATE VIEW all_reservations WITH (security_invoker = true) AS
    SELECT * FROM reservations
    UNION ALL
    SELECT * FROM archived_reservations;

-- What leaves the table must stand in the archive, the very same row, and what enters the archive must have left the table. Both are
-- judged when the statement that moves them has ended, so one statement has to do both.

-- +goose StatementBegin
CREATE FUNCTION settlement_only_archived() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM gone g
        WHERE NOT EXISTS (
            SELECT FROM archived_reservations a
            WHERE a.tenant_id = g.tenant_id AND a.reservation_id = g.reservation_id AND a *= g)
    ) THEN
        RAISE EXCEPTION '% on % is refused: a reservation is never deleted, only archived', TG_OP, TG_TABLE_NAME USING ERRCODE = 'SD002';
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION settlement_in_one_place() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM come c JOIN reservations r ON r.tenant_id = c.tenant_id AND r.reservation_id = c.reservation_id
    ) THEN
        RAISE EXCEPTION '% on % is refused: a reservation is in one place', TG_OP, TG_TABLE_NAME USING ERRCODE = 'SD002';
    END IF;
    RETURN NULL;
END
$$;

-- Who may create temporary tables must not slip one of his under the guards.

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION settlement_only_archived() SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION settlement_in_one_place() SET search_path = %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd

DROP TRIGGER reservations_are_never_deleted ON reservations;
CREATE TRIGGER reservations_are_never_truncated BEFORE TRUNCATE ON reservations
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a reservation is never deleted');
CREATE TRIGGER only_archived_reservations_are_deleted AFTER DELETE ON reservations
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_only_archived();

CREATE TRIGGER archived_reservations_are_never_deleted BEFORE DELETE OR TRUNCATE ON archived_reservations
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a reservation is never deleted');
CREATE TRIGGER archived_reservations_have_left AFTER INSERT ON archived_reservations
    REFERENCING NEW TABLE AS come
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_in_one_place();
CREATE TRIGGER archived_reservation_stamp_never_changes
    BEFORE UPDATE OF tenant_id, reservation_id, account_id, provider_id, funding_kind, credits_asked, budget_micros, currency,
        ttl_seconds_asked, submission_key, labels, taken_unit, taken_amount, period_start, permit_seconds, not_received_after_seconds,
        idempotency_key_seconds, max_age_seconds, output_check_required, output_rejection_captures, authoritative_observer, created_at
    ON archived_reservations
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('what a reservation was stamped with never changes');
CREATE TRIGGER archived_reservation_outcome_is_for_ever
    BEFORE UPDATE OF state, revision, credit_state, credits_captured, slot_state, budget_state, outcome_kind, outcome_stage, outcome_cause,
        outcome_code, outcome_categories, outcome_charge, outcome_observer, outcome_closed_by, settled_at
    ON archived_reservations
    FOR EACH ROW
    WHEN (OLD.revision > NEW.revision
        OR OLD.budget_state <> NEW.budget_state
        OR (OLD.state, OLD.credit_state, OLD.credits_captured, OLD.slot_state, OLD.outcome_kind, OLD.outcome_stage, OLD.outcome_cause,
            OLD.outcome_code, OLD.outcome_categories, OLD.outcome_charge, OLD.outcome_observer, OLD.outcome_closed_by, OLD.settled_at)
        IS DISTINCT FROM (
            NEW.state, NEW.credit_state, NEW.credits_captured, NEW.slot_state, NEW.outcome_kind, NEW.outcome_stage, NEW.outcome_cause,
            NEW.outcome_code, NEW.outcome_categories, NEW.outcome_charge, NEW.outcome_observer, NEW.outcome_closed_by, NEW.settled_at))
    EXECUTE FUNCTION settlement_refuse('an outcome is for ever, and a revision never falls');

GRANT DELETE ON reservations TO settlementd_service; -- of what it has archived: the guard above
GRANT SELECT ON all_reservations TO settlementd_service;
GRANT SELECT, INSERT,
    UPDATE (state, revision, deadline, deadline_max, overdue_since, cancel_requested_at, cancel_reason, credit_state, credits_captured,
        slot_state, budget_state, outcome_kind, outcome_stage, outcome_cause, outcome_code, outcome_categories, outcome_charge,
        outcome_observer, outcome_closed_by, settled_at, updated_at)
    ON archived_reservations TO settlementd_service;
