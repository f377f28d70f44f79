-- +goose Up

-- Facts that could not be applied, for an operator. The id is made from the fact, so a thousand copies are one row with a count.

CREATE TABLE exceptions (
    tenant_id         text COLLATE "C" NOT NULL,
    exception_id      text COLLATE "C" NOT NULL,
    reservation_id    text COLLATE "C" NOT NULL,
    request_key       text COLLATE "C" NOT NULL, -- '' where the fact names no line
    reason            text        NOT NULL,
    fact              text        NOT NULL,
    cost_micros       bigint,
    currency          text,
    observer          text        NOT NULL,
    count             bigint      NOT NULL,
    first_seen_at     timestamptz NOT NULL,
    last_seen_at      timestamptz NOT NULL,
    resolution        text,
    resolution_reason text,
    resolved_at       timestamptz,

    PRIMARY KEY (tenant_id, exception_id),
    FOREIGN KEY (tenant_id, reservation_id) REFERENCES reservations,
    CONSTRAINT reason_is_known CHECK (reason = ANY (
        '{SUPERSEDED,UNKNOWN_ATTEMPT,TASK_MISMATCH,NOT_THE_PERMIT_HOLDER,STALE_ATTEMPT,CONFLICTING_FACT,OUTPUT_CHECK_REQUIRED,CHARGE_EXCEEDS_HOLD,CHARGE_NOT_APPLICABLE,COST_CONFLICT,CURRENCY_MISMATCH}')),
    CONSTRAINT a_cost_has_a_currency CHECK ((cost_micros IS NULL) = (currency IS NULL)),
    CONSTRAINT exception_cost_within_bounds CHECK (cost_micros BETWEEN 0 AND 1000000000000000),
    CONSTRAINT seen_at_least_once CHECK (count >= 1 AND first_seen_at <= last_seen_at),
    CONSTRAINT resolution_is_known CHECK (resolution = ANY ('{DISMISSED,APPLIED}')),
    CONSTRAINT resolved_exactly_when_decided CHECK ((resolution IS NULL) = (resolved_at IS NULL))
) WITH (fillfactor = 90);

CREATE INDEX exceptions_by_first_sight ON exceptions (tenant_id, first_seen_at, exception_id);

CREATE TRIGGER exceptions_are_never_deleted BEFORE DELETE OR TRUNCATE ON exceptions
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('an exception is never deleted');
CREATE TRIGGER exception_identity_never_changes
    BEFORE UPDATE OF tenant_id, exception_id, reservation_id, request_key, reason, fact, cost_micros, currency, observer, first_seen_at
    ON exceptions
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('the identity of an exception never changes');
CREATE TRIGGER resolution_is_for_ever
    BEFORE UPDATE OF count, resolution, resolution_reason, resolved_at ON exceptions
    FOR EACH ROW
    WHEN (OLD.count > NEW.count
        OR OLD.resolution IS NOT NULL AND (OLD.resolution, OLD.resolution_reason, OLD.resolved_at)
            IS DISTINCT FROM (NEW.resolution, NEW.resolution_reason, NEW.resolved_at))
    EXECUTE FUNCTION settlement_refuse('a resolution is for ever, and a count never falls');

GRANT SELECT, INSERT, UPDATE (count, last_seen_at, resolution, resolution_reason, resolved_at) ON exceptions TO settlementd_service;
