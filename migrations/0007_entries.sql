-- +goose Up

-- Every accepted change, once: the movement of an account's balance and of a budget, and the event that tells others of it. The unique
-- event_key is what makes a second return, capture or grant impossible. Entries are only ever added.
--
-- There are no foreign keys: an entry is written by the transaction that holds the locks of its account and reservation, which can never be
-- deleted. The look-ups would be a tenth of what a call costs; verify makes them instead.

CREATE TABLE entries (
    tenant_id           text COLLATE "C" NOT NULL,
    entry_id            bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    event_key           text COLLATE "C" NOT NULL,
    event_type          text        NOT NULL,
    account_id          text COLLATE "C" NOT NULL,
    reservation_id      text COLLATE "C",
    revision            integer,
    unit                text,
    available_before    bigint,
    available_after     bigint,
    held_before         bigint,
    held_after          bigint,
    budget_held_change  bigint      NOT NULL,
    budget_spent_change bigint      NOT NULL,
    detail              jsonb,
    created_at          timestamptz NOT NULL,

    CONSTRAINT every_event_happens_once PRIMARY KEY (tenant_id, event_key),
    CONSTRAINT event_type_is_known CHECK (event_type = ANY (
        '{RESERVED,PERMITTED,RESENT,REPORTED,COST_RECORDED,CANCEL_REQUESTED,EXTENDED,RESUMED,OVERDUE,COMPLETED,PROVIDER_FAILED,POLICY_REJECTED,MODERATION_UNAVAILABLE,CANCELLED,EXPIRED,NOT_RECEIVED,GIVEN_UP,ADJUSTED,CREDITS_GRANTED,FREE_ATTEMPTS_GRANTED}')),
    CONSTRAINT changes_of_reservations_have_a_revision CHECK ((reservation_id IS NULL) = (revision IS NULL)),
    CONSTRAINT movements_are_whole CHECK (num_nulls(unit, available_before, available_after, held_before, held_after) = ANY ('{0,5}')),
    CONSTRAINT unit_is_known CHECK (unit = ANY ('{CREDITS,FREE_ATTEMPTS}')),
    CONSTRAINT balances_never_negative CHECK (
        available_before >= 0 AND available_after >= 0 AND held_before >= 0 AND held_after >= 0)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- The ledger of an account: the movements of each of its balances in the order in which they happened.
CREATE INDEX movements_by_balance ON entries (tenant_id, account_id, unit, entry_id) WHERE unit IS NOT NULL;

CREATE TRIGGER entries_are_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('the ledger is append-only');

GRANT SELECT, INSERT ON entries TO settlementd_service;
