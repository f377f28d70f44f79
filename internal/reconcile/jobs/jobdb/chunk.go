package jobdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
)

// ErrInDoubt says that the answer to the COMMIT of a chunk was lost: the chunk may stand.
var ErrInDoubt = errors.New("jobdb: the answer to COMMIT was lost")

// CorruptError says that what is stored of a job contradicts itself. Nothing is done then.
type CorruptError struct {
	Job  ledger.JobID
	What string // manifest, next_index or audit
}

// Error tells what is wrong.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("the %s of job %s contradicts what else is stored of it; settlementd verify tells where", e.What, e.Job)
}

// Chunk is an open transaction that has locked a job and found it sound. Targets are those that are next.
type Chunk struct {
	Job     Job
	Targets []ledger.Target

	tx     pgx.Tx
	tenant ledger.TenantID
}

// InChunk runs fn in a transaction that has locked the job, and commits when fn returns nil. It runs once, whatever happens; an error means
// that nothing was done, unless it is ErrInDoubt. The connection goes back to its pool without an open transaction and with the settings it
// came with, of which lock_timeout and statement_timeout bound every statement.
func (s *Store) InChunk(ctx context.Context, tenant ledger.TenantID, id ledger.JobID, fn func(context.Context, *Chunk) error) error {
	err := postgres.InTx(ctx, s.ledger, postgres.TxOptions{Once: true}, func(ctx context.Context, tx pgx.Tx) error {
		c := &Chunk{tx: tx, tenant: tenant}
		if err := c.lock(ctx, id); err != nil {
			return err
		}
		return fn(ctx, c)
	})
	if lost, ok := errors.AsType[*postgres.LostCommit](err); ok && lost.Status != postgres.Aborted {
		return fmt.Errorf("%w: %w", ErrInDoubt, err)
	}
	return err
}

const (
	lockJob = selectJob + " FOR NO KEY UPDATE"

	// The job's lock comes first, so this sees every chunk that was committed. It reads two ranges of keys, that of the targets and that of the
	// audit, and makes texts of them: that of the manifest, whose hash was approved, and those of what is done, which must be equal.
	compareJob = `SELECT
			t.total = j.total AND coalesce(t.first = 0 AND t.last = j.total - 1, false) AND j.manifest_hash = encode(sha256(convert_to(
				E'settlementd manifest 1\n' || j.tenant_id || ' ' || j.job_id || ' ' || j.action || ' ' || j.chunk_size || E' allow_partial\n' || coalesce(t.lines, ''),
				'UTF8')), 'hex'),
			t.done IS NOT DISTINCT FROM a.done
		FROM jobs j
		CROSS JOIN LATERAL (
			SELECT count(*) AS total, min(ordinal) AS first, max(ordinal) AS last, string_agg(line || E'\n', '') AS lines,
				string_agg(ordinal || ' ' || line || ' ' || revision + 1, E'\n') FILTER (WHERE ordinal < j.next_index) AS done
			FROM (
				SELECT ordinal, revision, reservation_id || ' ' || revision || ' ' || taken_unit || ' ' || taken_amount AS line
				FROM job_targets WHERE tenant_id = $1 AND job_id = $2 ORDER BY ordinal
			) targets
		) t
		CROSS JOIN LATERAL (
			SELECT string_agg(ordinal || ' ' || reservation_id || ' ' || previous_revision || ' ' || taken_unit || ' ' || taken_amount || ' ' || new_revision,
				E'\n') AS done
			FROM (SELECT * FROM job_audit WHERE tenant_id = $1 AND job_id = $2 ORDER BY ordinal) audit
		) a
		WHERE j.tenant_id = $1 AND j.job_id = $2`

	nextTargets = "SELECT " + targetColumns + ` FROM job_targets WHERE tenant_id = $1 AND job_id = $2
		AND ordinal >= (SELECT next_index FROM jobs WHERE tenant_id = $1 AND job_id = $2)
		AND ordinal < (SELECT next_index + chunk_size FROM jobs WHERE tenant_id = $1 AND job_id = $2)
		ORDER BY ordinal`
)

// lock takes the job's row, compares what is stored of it, and reads the targets that are next, in one round trip.
func (c *Chunk) lock(ctx context.Context, id ledger.JobID) error {
	var sound, audited bool
	var batch pgx.Batch
	args := []any{string(c.tenant), string(id)}
	batch.Queue(lockJob, args...).Query(func(rows pgx.Rows) (err error) {
		c.Job, err = exactly(rows, nil, scanJob, missingJob(id))
		return err
	})
	batch.Queue(compareJob, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&sound, &audited) })
	batch.Queue(nextTargets, args...).Query(func(rows pgx.Rows) (err error) {
		c.Targets, err = pgx.CollectRows(rows, scanTarget)
		return err
	})
	if err := c.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("jobdb: lock job %s: %w", id, err)
	}
	j := &c.Job
	switch next := j.NextIndex; {
	case !sound || j.ChunkSize < 1 || j.ChunkSize > ledger.ChunkCeiling || j.Total > ledger.TargetsCeiling:
		return &CorruptError{id, "manifest"}
	case next < 0 || next > j.Total || next%j.ChunkSize != 0 && next != j.Total:
		return &CorruptError{id, "next_index"}
	case !audited:
		return &CorruptError{id, "audit"}
	}
	return nil
}

// Apply changes the reservations that are next.
func (c *Chunk) Apply(ctx context.Context) ([]ledger.Processed, error) {
	return Apply(ctx, c.tx, c.tenant, ledger.Errand{Job: c.Job.Job, Action: c.Job.Action}, c.Targets)
}

const insertAudit = `INSERT INTO job_audit
	(tenant_id, job_id, ordinal, reservation_id, previous_revision, new_revision, taken_unit, taken_amount, created_at)
	SELECT $1, $2, $3 + u.ordinal - 1, u.reservation_id, u.previous_revision, u.new_revision, u.taken_unit, u.taken_amount, c.now
	FROM (SELECT settlement_now() AS now) c, unnest($4::text[], $5::integer[], $6::integer[], $7::text[], $8::bigint[]) WITH ORDINALITY
		u (reservation_id, previous_revision, new_revision, taken_unit, taken_amount, ordinal)
	ORDER BY u.ordinal`

// Audit records what was changed.
func (c *Chunk) Audit(ctx context.Context, done []ledger.Processed) error {
	n := len(done)
	ids, before, after, units, amounts := make([]string, n), make([]int32, n), make([]int32, n), make([]string, n), make([]int64, n)
	for i, p := range done {
		ids[i], before[i], after[i] = string(p.Reservation), p.Revision, p.NewRevision
		units[i], amounts[i] = string(p.Taken.Unit), int64(p.Taken.Amount)
	}
	err := expect(int64(n))(c.tx.Exec(ctx, insertAudit, string(c.tenant), string(c.Job.Job), c.Job.NextIndex, ids, before, after, units, amounts))
	if err != nil {
		return fmt.Errorf("jobdb: audit: %w", err)
	}
	return nil
}

const moveOn = `UPDATE jobs SET next_index = $3, progressed_at = settlement_now() WHERE tenant_id = $1 AND job_id = $2 AND next_index = $4`

// Advance moves the checkpoint behind the targets of the chunk.
func (c *Chunk) Advance(ctx context.Context) error {
	before, after := c.Job.NextIndex, c.Job.NextIndex+len(c.Targets)
	if err := expect(1)(c.tx.Exec(ctx, moveOn, string(c.tenant), string(c.Job.Job), after, before)); err != nil {
		return fmt.Errorf("jobdb: move on: %w", err)
	}
	c.Job.NextIndex = after
	return nil
}

// expect holds a statement to the number of rows that it must write.
func expect(want int64) func(pgconn.CommandTag, error) error {
	return func(tag pgconn.CommandTag, err error) error {
		if err == nil && tag.RowsAffected() != want {
			return &ledger.Error{Kind: ledger.Broken, Message: fmt.Sprintf("a statement wrote %d rows instead of %d", tag.RowsAffected(), want)}
		}
		return err
	}
}
