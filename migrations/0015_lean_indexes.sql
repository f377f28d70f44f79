-- +goose Up

-- An index of a hot table is kept only where nothing else leads to its rows, and has nothing in it that most updates change: those then
-- touch no index at all.

-- Nobody escapes uncertainty with a new key. An attempt is numbered by the attempts of its kind and stage that were resolved before it, so a
-- second one beside an unresolved one would have the same number. The number never changes, whereas whether a line is resolved does. A server
-- that does not know it yet gives every line the default: first attempts go on, a second one has to wait for the others to take over.
ALTER TABLE lines ADD COLUMN attempt integer NOT NULL DEFAULT 1;
UPDATE lines l SET attempt = n.attempt
FROM (
    SELECT tenant_id, request_key,
        row_number() OVER (PARTITION BY tenant_id, reservation_id, kind, stage ORDER BY unresolved, permitted_at, request_key) AS attempt
    FROM lines
) n
WHERE n.tenant_id = l.tenant_id AND n.request_key = l.request_key AND n.attempt > 1;
ALTER TABLE lines ADD CONSTRAINT attempts_count_from_one CHECK (attempt >= 1);

DROP INDEX one_unresolved_line_per_reservation_kind_and_stage;
DROP INDEX lines_by_reservation;
-- The condition is true of every row; a statement that does not repeat it cannot be led here.
CREATE UNIQUE INDEX one_attempt_at_a_time ON lines (tenant_id, reservation_id, kind, stage, attempt) NULLS NOT DISTINCT
    WHERE reservation_id >= '';
ALTER TABLE lines SET (fillfactor = 65);

DROP TRIGGER line_identity_never_changes ON lines;
CREATE TRIGGER line_identity_never_changes
    BEFORE UPDATE OF tenant_id, request_key, reservation_id, provider_id, kind, stage, attempt, permit_token, permitted_at, resend_until,
        check_timeout_seconds
    ON lines
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('the identity of a line never changes');

-- What is not over yet is listed by age, and an account's of these by the account within it.
DROP INDEX reservations_not_over;
CREATE INDEX reservations_not_over ON reservations (tenant_id, created_at, reservation_id, account_id) WHERE budget_state = 'HELD';

-- The other reservations of an account are found in its ledger, which has all of them, also those that took nothing.
DROP INDEX movements_by_balance;
CREATE INDEX entries_by_balance ON entries (tenant_id, account_id, unit, entry_id) WHERE unit IS NOT NULL OR event_type = 'RESERVED';
DROP INDEX reservations_by_account;
DROP INDEX archived_reservations_by_account;
