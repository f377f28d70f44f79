-- +goose Up

-- A reconciliation job: a manifest that somebody registered and somebody approved, and how far it has come. The manifest never changes,
-- and next_index only grows.

CREATE TABLE jobs (
    tenant_id     text COLLATE "C" NOT NULL REFERENCES tenants,
    job_id        text COLLATE "C" NOT NULL,
    action        text        NOT NULL,
    chunk_size    integer     NOT NULL,
    total         integer     NOT NULL, -- of its targets
    manifest_hash text        NOT NULL,
    registered_by text        NOT NULL,
    registered_at timestamptz NOT NULL,
    approved_by   text,
    approved_at   timestamptz,
    next_index    integer     NOT NULL, -- of its targets, how many are done
    progressed_at timestamptz,

    PRIMARY KEY (tenant_id, job_id),
    CONSTRAINT job_id_has_a_sane_length CHECK (length(job_id) BETWEEN 1 AND 64),
    CONSTRAINT action_is_known CHECK (action = ANY ('{CANCEL,RELEASE_CUSTOMER}')),
    CONSTRAINT chunks_are_bounded CHECK (chunk_size BETWEEN 1 AND 1000),
    CONSTRAINT targets_are_bounded CHECK (total BETWEEN 1 AND 10000),
    CONSTRAINT manifest_hash_is_sha256 CHECK (manifest_hash ~ '^[0-9a-f]{64}$'),
    CONSTRAINT approved_by_somebody CHECK ((approved_by IS NULL) = (approved_at IS NULL)),
    CONSTRAINT progress_stops_between_chunks CHECK (
        next_index BETWEEN 0 AND total AND (next_index % chunk_size = 0 OR next_index = total)),
    CONSTRAINT progress_needs_approval CHECK (next_index = 0 OR approved_at IS NOT NULL),
    CONSTRAINT progress_has_a_time CHECK ((next_index = 0) = (progressed_at IS NULL))
);

CREATE INDEX jobs_by_registration ON jobs (tenant_id, registered_at, job_id);

CREATE TRIGGER jobs_are_never_deleted BEFORE DELETE OR TRUNCATE ON jobs
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a job is never deleted');
CREATE TRIGGER manifest_never_changes
    BEFORE UPDATE OF tenant_id, job_id, action, chunk_size, total, manifest_hash, registered_by, registered_at ON jobs
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a manifest never changes');
CREATE TRIGGER approval_and_progress_stand
    BEFORE UPDATE OF approved_by, approved_at, next_index, progressed_at ON jobs
    FOR EACH ROW
    WHEN (OLD.next_index > NEW.next_index
        OR OLD.approved_at IS NOT NULL AND (OLD.approved_by, OLD.approved_at) IS DISTINCT FROM (NEW.approved_by, NEW.approved_at))
    EXECUTE FUNCTION settlement_refuse('an approval is for ever, and progress only grows');

GRANT SELECT, INSERT, UPDATE (approved_by, approved_at, next_index, progressed_at) ON jobs TO settlementd_service;

-- The reservations of a manifest, in the order of their ids from 0. They may name what does not exist: a run finds that out.

CREATE TABLE job_targets (
    tenant_id      text COLLATE "C" NOT NULL,
    job_id         text COLLATE "C" NOT NULL,
    ordinal        integer NOT NULL,
    reservation_id text COLLATE "C" NOT NULL,
    revision       integer NOT NULL,
    taken_unit     text    NOT NULL,
    taken_amount   bigint  NOT NULL,

    PRIMARY KEY (tenant_id, job_id, ordinal),
    FOREIGN KEY (tenant_id, job_id) REFERENCES jobs,
    CONSTRAINT target_ordinal_within_bounds CHECK (ordinal BETWEEN 0 AND 9999),
    CONSTRAINT target_revision_can_grow CHECK (revision BETWEEN 0 AND 2147483646),
    CONSTRAINT target_taken_within_bounds CHECK (
        taken_unit = 'CREDITS' AND taken_amount BETWEEN 0 AND 1000000000000000 OR taken_unit = 'FREE_ATTEMPTS' AND taken_amount = 1)
);

-- The condition is true of every row; a statement that does not repeat it, a foreign-key check say, cannot be led here.
CREATE UNIQUE INDEX one_target_per_reservation ON job_targets (tenant_id, job_id, reservation_id) WHERE ordinal >= 0;

CREATE TRIGGER job_targets_are_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON job_targets
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('a manifest never changes');

GRANT SELECT, INSERT ON job_targets TO settlementd_service;

-- What a job has done, one row for each target that it changed, written in the transaction that changed it.

CREATE TABLE job_audit (
    tenant_id         text COLLATE "C" NOT NULL,
    job_id            text COLLATE "C" NOT NULL,
    ordinal           integer     NOT NULL,
    reservation_id    text COLLATE "C" NOT NULL,
    previous_revision integer     NOT NULL,
    new_revision      integer     NOT NULL,
    taken_unit        text        NOT NULL,
    taken_amount      bigint      NOT NULL,
    created_at        timestamptz NOT NULL,

    PRIMARY KEY (tenant_id, job_id, ordinal),
    FOREIGN KEY (tenant_id, job_id) REFERENCES jobs,
    CONSTRAINT a_change_is_one_revision CHECK (previous_revision >= 0 AND new_revision = previous_revision + 1)
);

CREATE UNIQUE INDEX one_audit_per_reservation ON job_audit (tenant_id, job_id, reservation_id) WHERE ordinal >= 0;

CREATE TRIGGER job_audit_is_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON job_audit
    FOR EACH STATEMENT EXECUTE FUNCTION settlement_refuse('an audit is only added to');

GRANT SELECT, INSERT ON job_audit TO settlementd_service;
