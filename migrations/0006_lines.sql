-- +goose Up

-- The journal: one external request a line, under the key that it was sent under. A line is never deleted and never re-keyed, and what is
-- known of it only grows.

CREATE TABLE lines (
    tenant_id              text COLLATE "C" NOT NULL,
    request_key            text COLLATE "C" NOT NULL,
    reservation_id         text COLLATE "C" NOT NULL,
    provider_id            text COLLATE "C" NOT NULL,
    kind                   text        NOT NULL,
    stage                  text,
    permit_token           text,                 -- NULL on a line that a report brought back
    permitted_at           timestamptz NOT NULL,
    resend_until           timestamptz,          -- NULL: the provider takes no idempotency keys
    check_timeout_seconds  bigint,

    knowledge              text        NOT NULL,
    permit_expires_at      timestamptz NOT NULL,
    resent_at              timestamptz,
    provider_task_id       text COLLATE "C",
    cost_micros            bigint,               -- NULL is unknown, which is not zero
    cost_adjustment_micros bigint      NOT NULL,
    uncertain_cause        text,
    last_evidence          jsonb,
    updated_at             timestamptz NOT NULL,
    unresolved boolean GENERATED ALWAYS AS (knowledge = ANY ('{PERMITTED,UNCERTAIN,ACCEPTED}')) STORED,

    PRIMARY KEY (tenant_id, request_key),
    FOREIGN KEY (tenant_id, reservation_id) REFERENCES reservations,
    CONSTRAINT kind_and_stage_are_a_pair CHECK (
        kind || ' ' || coalesce(stage, 'NONE') = ANY ('{GENERATION NONE,MODERATION INPUT,MODERATION OUTPUT}')),
    CONSTRAINT only_checks_have_a_timeout CHECK ((kind = 'MODERATION') = (check_timeout_seconds IS NOT NULL)),
    CONSTRAINT knowledge_is_known CHECK (knowledge = ANY (
        '{PERMITTED,UNCERTAIN,ACCEPTED,NOT_SENT,NOT_ACCEPTED,NOT_RECEIVED,SUCCEEDED,FAILED}')),
    CONSTRAINT cost_within_bounds CHECK (cost_micros BETWEEN 0 AND 1000000000000000),
    CONSTRAINT what_never_arrived_costs_nothing CHECK (
        knowledge <> ALL ('{NOT_SENT,NOT_RECEIVED}') OR cost_micros IS NOT DISTINCT FROM 0),
    CONSTRAINT adjusted_cost_never_negative CHECK (coalesce(cost_micros, 0) + cost_adjustment_micros >= 0)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0);

-- The condition is true of every row; a statement that does not repeat it, a foreign-key check say, cannot be led here.
CREATE INDEX lines_by_reservation ON lines (tenant_id, reservation_id) WHERE reservation_id >= '';
-- Nobody escapes uncertainty with a new key.
CREATE UNIQUE INDEX one_unresolved_line_per_reservation_kind_and_stage
    ON lines (tenant_id, reservation_id, kind, coalesce(stage, '')) WHERE unresolved;
CREATE UNIQUE INDEX one_line_per_task_of_a_provider
    ON lines (tenant_id, provider_task_id, provider_id) WHERE provider_task_id IS NOT NULL;

CREATE TRIGGER lines_are_never_deleted BEFORE DELETE OR TRUNCATE ON lines
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a line of the journal is never deleted');
CREATE TRIGGER line_identity_never_changes
    BEFORE UPDATE OF tenant_id, request_key, reservation_id, provider_id, kind, stage, permit_token, permitted_at, resend_until,
        check_timeout_seconds
    ON lines
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('the identity of a line never changes');
CREATE TRIGGER knowledge_only_grows
    BEFORE UPDATE OF knowledge, provider_task_id, cost_micros, permit_expires_at, resent_at ON lines
    FOR EACH ROW
    WHEN (OLD.knowledge <> NEW.knowledge AND (
            NOT OLD.unresolved
            OR NEW.knowledge = 'PERMITTED'
            OR OLD.knowledge = 'ACCEPTED' AND NEW.knowledge <> ALL ('{SUCCEEDED,FAILED}'))
        OR OLD.provider_task_id IS NOT NULL AND OLD.provider_task_id IS DISTINCT FROM NEW.provider_task_id
        OR OLD.cost_micros IS NOT NULL AND OLD.cost_micros IS DISTINCT FROM NEW.cost_micros
        OR OLD.permit_expires_at > NEW.permit_expires_at
        OR OLD.resent_at IS NOT NULL AND NEW.resent_at IS NULL)
    EXECUTE FUNCTION settlement_refuse('knowledge only grows: what is known of a line, its task id and its cost stay');

GRANT SELECT, INSERT,
    UPDATE (knowledge, permit_expires_at, resent_at, provider_task_id, cost_micros, cost_adjustment_micros, uncertain_cause, last_evidence,
        updated_at)
    ON lines TO settlementd_service;
