-- +goose Up

-- A provider's usage statement, as far as it was held against the journal. The checkpoint and the counts move in the transaction that adds
-- the lines that they count.

CREATE TABLE statements (
    tenant_id       text COLLATE "C" NOT NULL,
    provider_id     text COLLATE "C" NOT NULL,
    statement_id    text COLLATE "C" NOT NULL,
    period_start    timestamptz,
    period_end      timestamptz,
    created_at      timestamptz NOT NULL,

    lines_through   bigint      NOT NULL, -- every line up to this number was taken
    lines           bigint      NOT NULL,
    matched         bigint      NOT NULL,
    already_known   bigint      NOT NULL, -- of the matched
    repeated        bigint      NOT NULL, -- of the already known
    mismatched      bigint      NOT NULL,
    unknown_to_us   bigint      NOT NULL,
    bad             bigint      NOT NULL,
    unknown_to_them bigint      NOT NULL,
    updated_at      timestamptz NOT NULL,
    completed_at    timestamptz,

    PRIMARY KEY (tenant_id, provider_id, statement_id),
    FOREIGN KEY (tenant_id, provider_id) REFERENCES providers,
    CONSTRAINT period_ends_after_it_starts CHECK (num_nulls(period_start, period_end) <> 1 AND period_start < period_end),
    CONSTRAINT every_line_has_one_verdict CHECK (lines = matched + mismatched + unknown_to_us + bad),
    CONSTRAINT repeated_are_known_and_known_are_matched CHECK (0 <= repeated AND repeated <= already_known AND already_known <= matched),
    CONSTRAINT checkpoint_is_behind_the_lines CHECK (lines_through >= lines),
    CONSTRAINT statement_counts_never_negative CHECK (
        lines >= 0 AND mismatched >= 0 AND unknown_to_us >= 0 AND bad >= 0 AND unknown_to_them >= 0)
);

CREATE TRIGGER statements_are_never_deleted BEFORE DELETE OR TRUNCATE ON statements
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a statement is never deleted');
CREATE TRIGGER statement_identity_never_changes
    BEFORE UPDATE OF tenant_id, provider_id, statement_id, period_start, period_end, created_at ON statements
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('the header of a statement never changes');
CREATE TRIGGER statement_checkpoint_only_grows
    BEFORE UPDATE OF lines_through, lines ON statements
    FOR EACH ROW
    WHEN (OLD.lines_through > NEW.lines_through OR OLD.lines > NEW.lines)
    EXECUTE FUNCTION settlement_refuse('a checkpoint only grows');

GRANT SELECT, INSERT,
    UPDATE (lines_through, lines, matched, already_known, repeated, mismatched, unknown_to_us, bad, unknown_to_them, updated_at, completed_at)
    ON statements TO settlementd_service;

-- The lines that were taken, each once. What they were matched with stands as the journal has it, the rest as the statement says it.

CREATE TABLE statement_lines (
    tenant_id        text COLLATE "C" NOT NULL,
    provider_id      text COLLATE "C" NOT NULL,
    statement_id     text COLLATE "C" NOT NULL,
    line_number      bigint NOT NULL,
    content_hash     bytea  NOT NULL, -- by which the same number with another content is found out
    verdict          text   NOT NULL,
    request_key      text COLLATE "C",
    provider_task_id text COLLATE "C",
    reservation_id   text COLLATE "C", -- NULL: matched with nothing
    cost_micros      bigint,
    currency         text,
    recorded_micros  bigint,
    exception_id     text COLLATE "C",
    reason           text,

    PRIMARY KEY (tenant_id, provider_id, statement_id, line_number),
    FOREIGN KEY (tenant_id, provider_id, statement_id) REFERENCES statements,
    CONSTRAINT lines_count_from_one CHECK (line_number >= 1),
    CONSTRAINT verdict_is_known CHECK (verdict = ANY ('{MATCHED,KNOWN,REPEATED,MISMATCH,UNKNOWN_TO_US,BAD}')),
    CONSTRAINT a_match_has_a_request CHECK (
        verdict <> ALL ('{MATCHED,KNOWN,REPEATED,MISMATCH}') OR num_nulls(request_key, reservation_id, cost_micros, currency) = 0),
    CONSTRAINT statement_cost_within_bounds CHECK (cost_micros BETWEEN 0 AND 1000000000000000)
);

-- Which statements list a request (it does not begin like the primary key, so that a planner without statistics cannot take one for the
-- other), and which lines of a statement did not simply match.
CREATE INDEX statement_lines_by_request ON statement_lines (tenant_id, request_key) WHERE reservation_id IS NOT NULL;
CREATE INDEX statement_lines_to_look_at ON statement_lines (tenant_id, provider_id, statement_id, line_number)
    WHERE verdict <> ALL ('{MATCHED,KNOWN}');

CREATE TRIGGER statement_lines_are_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON statement_lines
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('what a statement said never changes');

GRANT SELECT, INSERT ON statement_lines TO settlementd_service;

-- Requests of the journal that a statement ought to list and does not, as they were at the end of its last import. This is a finding and
-- no record: the next import finds it anew.

CREATE TABLE statement_absences (
    tenant_id        text COLLATE "C" NOT NULL,
    provider_id      text COLLATE "C" NOT NULL,
    statement_id     text COLLATE "C" NOT NULL,
    request_key      text COLLATE "C" NOT NULL,
    provider_task_id text COLLATE "C",
    reservation_id   text COLLATE "C" NOT NULL,
    recorded_micros  bigint, -- NULL: not known yet
    reason           text NOT NULL,

    PRIMARY KEY (tenant_id, provider_id, statement_id, request_key),
    FOREIGN KEY (tenant_id, provider_id, statement_id) REFERENCES statements
);

CREATE TRIGGER statement_absences_are_never_emptied BEFORE TRUNCATE ON statement_absences
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a tenant''s findings are not another''s');

GRANT SELECT, INSERT, DELETE ON statement_absences TO settlementd_service;
