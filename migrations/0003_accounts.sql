-- +goose Up

CREATE TABLE tenants (
    tenant_id  text COLLATE "C" PRIMARY KEY,
    created_at timestamptz NOT NULL,
    CONSTRAINT tenant_id_has_a_sane_length CHECK (length(tenant_id) BETWEEN 1 AND 64)
);

CREATE TRIGGER tenants_are_never_deleted BEFORE DELETE OR TRUNCATE ON tenants
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a tenant is never deleted');
CREATE TRIGGER tenants_never_change BEFORE UPDATE ON tenants
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a tenant never changes');

GRANT SELECT, INSERT ON tenants TO settlementd_service;

-- A customer. Available plus held is what its ledger entries add up to.

CREATE TABLE accounts (
    tenant_id               text COLLATE "C" NOT NULL REFERENCES tenants,
    account_id              text COLLATE "C" NOT NULL,
    credits_available       bigint      NOT NULL,
    credits_held            bigint      NOT NULL,
    free_attempts_available bigint      NOT NULL,
    free_attempts_held      bigint      NOT NULL,
    slot_limit              bigint      NOT NULL,
    slots_in_use            bigint      NOT NULL,
    suspended               boolean     NOT NULL,
    created_at              timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, account_id),
    CONSTRAINT credits_never_negative CHECK (credits_available >= 0 AND credits_held >= 0),
    CONSTRAINT credits_within_bounds CHECK (credits_available + credits_held <= 1000000000000000),
    CONSTRAINT free_attempts_never_negative CHECK (free_attempts_available >= 0 AND free_attempts_held >= 0),
    CONSTRAINT free_attempts_within_bounds CHECK (free_attempts_available + free_attempts_held <= 1000000000000000),
    CONSTRAINT slots_never_negative CHECK (slots_in_use >= 0 AND slot_limit >= 0)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE TRIGGER accounts_are_never_deleted BEFORE DELETE OR TRUNCATE ON accounts
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('an account is never deleted');
CREATE TRIGGER account_identity_never_changes BEFORE UPDATE OF tenant_id, account_id, created_at ON accounts
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('the identity of an account never changes');

GRANT SELECT, INSERT,
    UPDATE (credits_available, credits_held, free_attempts_available, free_attempts_held, slot_limit, slots_in_use, suspended)
    ON accounts TO settlementd_service;
