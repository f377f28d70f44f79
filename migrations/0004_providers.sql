-- +goose Up

CREATE TABLE providers (
    tenant_id                  text COLLATE "C" NOT NULL REFERENCES tenants,
    provider_id                text COLLATE "C" NOT NULL,
    currency                   text        NOT NULL,
    max_in_flight              bigint      NOT NULL, -- 0: no cap
    in_flight                  bigint      NOT NULL,
    uncertain_in_flight        bigint      NOT NULL,
    enabled                    boolean     NOT NULL,
    permit_seconds             integer     NOT NULL,
    not_received_after_seconds integer     NOT NULL,
    idempotency_key_seconds    integer     NOT NULL, -- 0: takes no idempotency keys
    output_check_required      boolean     NOT NULL,
    output_rejection_captures  boolean     NOT NULL,
    authoritative_observer     text,                 -- NULL: any
    budget_period              text        NOT NULL,
    time_zone                  text        NOT NULL,
    budget_limit_micros        bigint      NOT NULL, -- of a period that is yet to begin
    created_at                 timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, provider_id),
    CONSTRAINT in_flight_never_negative CHECK (in_flight >= 0),
    CONSTRAINT uncertain_are_in_flight CHECK (uncertain_in_flight BETWEEN 0 AND in_flight),
    CONSTRAINT settings_never_negative CHECK (
        max_in_flight >= 0 AND permit_seconds >= 0 AND not_received_after_seconds >= 0 AND idempotency_key_seconds >= 0),
    CONSTRAINT authoritative_observer_is_poll_or_any CHECK (authoritative_observer = 'POLL'),
    CONSTRAINT budget_period_is_known CHECK (budget_period = ANY ('{NONE,DAY,MONTH}')),
    CONSTRAINT budget_limit_within_bounds CHECK (budget_limit_micros BETWEEN 0 AND 1000000000000000)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE TRIGGER providers_are_never_deleted BEFORE DELETE OR TRUNCATE ON providers
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a provider is never deleted');
CREATE TRIGGER provider_identity_never_changes
    BEFORE UPDATE OF tenant_id, provider_id, currency, budget_period, time_zone, created_at ON providers
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('the currency, budget period and time zone of a provider never change');

GRANT SELECT, INSERT,
    UPDATE (max_in_flight, in_flight, uncertain_in_flight, enabled, permit_seconds, not_received_after_seconds, idempotency_key_seconds,
        output_check_required, output_rejection_captures, authoritative_observer, budget_limit_micros)
    ON providers TO settlementd_service;

-- What a provider may cost in one period. Spent tells the truth even above the limit, so only the limit has an upper bound.

CREATE TABLE budgets (
    tenant_id    text COLLATE "C" NOT NULL,
    provider_id  text COLLATE "C" NOT NULL,
    period_start timestamptz NOT NULL,
    limit_micros bigint      NOT NULL,
    held_micros  bigint      NOT NULL,
    spent_micros bigint      NOT NULL,
    PRIMARY KEY (tenant_id, provider_id, period_start),
    FOREIGN KEY (tenant_id, provider_id) REFERENCES providers,
    CONSTRAINT period_starts_in_1970_or_later CHECK (period_start >= timestamptz '1970-01-01 00:00:00+00'),
    CONSTRAINT limit_within_bounds CHECK (limit_micros BETWEEN 0 AND 1000000000000000),
    CONSTRAINT held_never_negative CHECK (held_micros >= 0),
    CONSTRAINT spent_never_negative CHECK (spent_micros >= 0)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE TRIGGER budgets_are_never_deleted BEFORE DELETE OR TRUNCATE ON budgets
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a budget is never deleted');
CREATE TRIGGER budget_identity_never_changes BEFORE UPDATE OF tenant_id, provider_id, period_start ON budgets
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('the identity of a budget never changes');

GRANT SELECT, INSERT, UPDATE (limit_micros, held_micros, spent_micros) ON budgets TO settlementd_service;
