-- +goose Up

-- A generation job. Its row is its own hold entry: what was asked, what was taken, and where each of the three holds stands. What it was
-- stamped with at Reserve never changes, and judges it ever after.

CREATE TABLE reservations (
    tenant_id                  text COLLATE "C" NOT NULL,
    reservation_id             text COLLATE "C" NOT NULL,
    account_id                 text COLLATE "C" NOT NULL,
    provider_id                text COLLATE "C" NOT NULL,
    -- asked
    funding_kind               text        NOT NULL,
    credits_asked              bigint      NOT NULL,
    budget_micros              bigint      NOT NULL,
    currency                   text        NOT NULL,
    ttl_seconds_asked          bigint,
    submission_key             text COLLATE "C",
    labels                     jsonb,
    -- taken and stamped
    taken_unit                 text        NOT NULL,
    taken_amount               bigint      NOT NULL,
    period_start               timestamptz NOT NULL,
    permit_seconds             integer     NOT NULL,
    not_received_after_seconds integer     NOT NULL,
    idempotency_key_seconds    integer     NOT NULL,
    max_age_seconds            bigint      NOT NULL,
    output_check_required      boolean     NOT NULL,
    output_rejection_captures  boolean     NOT NULL,
    authoritative_observer     text,
    created_at                 timestamptz NOT NULL,
    -- where it stands
    state                      text        NOT NULL,
    revision                   integer     NOT NULL,
    deadline                   timestamptz NOT NULL,
    deadline_max               timestamptz NOT NULL,
    overdue_since              timestamptz,
    cancel_requested_at        timestamptz,
    cancel_reason              text,
    credit_state               text        NOT NULL,
    credits_captured           bigint      NOT NULL, -- of the amount taken, in its unit
    slot_state                 text        NOT NULL,
    budget_state               text        NOT NULL,
    -- how it ended
    outcome_kind               text,
    outcome_stage              text,
    outcome_cause              text,
    outcome_code               text,
    outcome_categories         text[],
    outcome_charge             bigint,
    outcome_observer           text,
    outcome_closed_by          text,
    settled_at                 timestamptz,
    updated_at                 timestamptz NOT NULL,
    -- what the sweep looks for; it changes rarely, so that most updates touch no index
    due_at timestamptz GENERATED ALWAYS AS (CASE WHEN outcome_kind IS NULL AND overdue_since IS NULL THEN deadline END) STORED,

    PRIMARY KEY (tenant_id, reservation_id),
    FOREIGN KEY (tenant_id, account_id) REFERENCES accounts,
    FOREIGN KEY (tenant_id, provider_id, period_start) REFERENCES budgets,
    CONSTRAINT state_and_outcome_are_a_pair CHECK (state || ' ' || coalesce(outcome_kind, 'OPEN') = ANY (
        '{PENDING OPEN,PROCESSING OPEN,UNCERTAIN OPEN,COMPLETED COMPLETED,FAILED PROVIDER_FAILED,FAILED MODERATION_UNAVAILABLE,FAILED NOT_RECEIVED,FAILED GIVEN_UP,REJECTED POLICY_REJECTED,CANCELLED CANCELLED,EXPIRED EXPIRED}')),
    CONSTRAINT holds_follow_the_outcome CHECK (CASE
        WHEN outcome_kind IS NULL THEN credit_state = 'HELD' AND slot_state = 'HELD' AND budget_state = 'HELD'
        ELSE credit_state = ANY ('{CAPTURED,RETURNED}') AND slot_state = 'RELEASED' AND budget_state = ANY ('{HELD,ENDED}') END),
    CONSTRAINT settled_exactly_when_ended CHECK ((settled_at IS NULL) = (outcome_kind IS NULL)),
    CONSTRAINT captured_at_most_taken CHECK (
        credits_captured BETWEEN 0 AND taken_amount AND (credits_captured = 0 OR credit_state = 'CAPTURED')),
    CONSTRAINT taken_as_asked CHECK (CASE
        WHEN taken_unit = 'CREDITS' THEN funding_kind = ANY ('{CREDITS,FREE_ATTEMPT_OR_CREDITS}') AND taken_amount = credits_asked
        ELSE taken_unit = 'FREE_ATTEMPTS' AND funding_kind = ANY ('{FREE_ATTEMPT,FREE_ATTEMPT_OR_CREDITS}') AND taken_amount = 1 END),
    CONSTRAINT asked_within_bounds CHECK (
        credits_asked BETWEEN 0 AND 1000000000000000 AND budget_micros BETWEEN 0 AND 1000000000000000),
    CONSTRAINT revision_within_bounds CHECK (revision >= 0),
    CONSTRAINT outcome_words_are_known CHECK (
        outcome_stage = ANY ('{INPUT,OUTPUT}')
        AND outcome_observer = ANY ('{CALLBACK,POLL,WORKER,FRONTEND,RECONCILIATION,EXPIRY}'))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0);

-- Open reservations by deadline, for the sweep.
CREATE INDEX reservations_by_due_time ON reservations (tenant_id, due_at, reservation_id) WHERE due_at IS NOT NULL;
-- Lists: everything, everything of an account, and what is not over yet: open, or ended with a cost still unknown. The first two have a
-- condition that is true of every row, so that only a statement that repeats it can be led there. No index has a column in it that
-- changes before the end, so that until then an update touches none.
CREATE INDEX reservations_by_creation ON reservations (tenant_id, created_at, reservation_id) WHERE taken_amount >= 0;
CREATE INDEX reservations_by_account ON reservations (tenant_id, account_id, created_at, reservation_id) WHERE taken_amount >= 0;
CREATE INDEX reservations_not_over ON reservations (tenant_id, created_at, reservation_id) WHERE budget_state = 'HELD';

CREATE TRIGGER reservations_are_never_deleted BEFORE DELETE OR TRUNCATE ON reservations
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a reservation is never deleted');
CREATE TRIGGER reservation_stamp_never_changes
    BEFORE UPDATE OF tenant_id, reservation_id, account_id, provider_id, funding_kind, credits_asked, budget_micros, currency,
        ttl_seconds_asked, submission_key, labels, taken_unit, taken_amount, period_start, permit_seconds, not_received_after_seconds,
        idempotency_key_seconds, max_age_seconds, output_check_required, output_rejection_captures, authoritative_observer, created_at
    ON reservations
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('what a reservation was stamped with never changes');
CREATE TRIGGER reservation_outcome_is_for_ever
    BEFORE UPDATE OF state, revision, credit_state, credits_captured, slot_state, budget_state, outcome_kind, outcome_stage, outcome_cause,
        outcome_code, outcome_categories, outcome_charge, outcome_observer, outcome_closed_by, settled_at
    ON reservations
    FOR EACH ROW
    WHEN (OLD.revision > NEW.revision
        OR OLD.budget_state = 'ENDED' AND NEW.budget_state <> 'ENDED'
        OR OLD.outcome_kind IS NOT NULL AND (
            OLD.state, OLD.credit_state, OLD.credits_captured, OLD.slot_state, OLD.outcome_kind, OLD.outcome_stage, OLD.outcome_cause,
            OLD.outcome_code, OLD.outcome_categories, OLD.outcome_charge, OLD.outcome_observer, OLD.outcome_closed_by, OLD.settled_at)
        IS DISTINCT FROM (
            NEW.state, NEW.credit_state, NEW.credits_captured, NEW.slot_state, NEW.outcome_kind, NEW.outcome_stage, NEW.outcome_cause,
            NEW.outcome_code, NEW.outcome_categories, NEW.outcome_charge, NEW.outcome_observer, NEW.outcome_closed_by, NEW.settled_at))
    EXECUTE FUNCTION settlement_refuse('an outcome is for ever, and a revision never falls');

GRANT SELECT, INSERT,
    UPDATE (state, revision, deadline, deadline_max, overdue_since, cancel_requested_at, cancel_reason, credit_state, credits_captured,
        slot_state, budget_state, outcome_kind, outcome_stage, outcome_cause, outcome_code, outcome_categories, outcome_charge,
        outcome_observer, outcome_closed_by, settled_at, updated_at)
    ON reservations TO settlementd_service;
