package jobdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
)

const (
	insertJob = `INSERT INTO jobs (tenant_id, job_id, action, chunk_size, total, manifest_hash, registered_by, registered_at, next_index)
		SELECT tenant_id, $2, $3, $4, $5, $6, $7, settlement_now(), 0 FROM tenants WHERE tenant_id = $1
		ON CONFLICT DO NOTHING RETURNING registered_at`

	insertTargets = `INSERT INTO job_targets (tenant_id, job_id, ordinal, reservation_id, revision, taken_unit, taken_amount)
		SELECT $1, $2, u.ordinal - 1, u.reservation_id, u.revision, u.taken_unit, u.taken_amount
		FROM unnest($3::text[], $4::integer[], $5::text[], $6::bigint[]) WITH ORDINALITY u (reservation_id, revision, taken_unit, taken_amount, ordinal)
		ORDER BY u.ordinal`

	selectJob     = "SELECT " + jobColumns + " FROM jobs WHERE tenant_id = $1 AND job_id = $2"
	selectTargets = "SELECT " + targetColumns + " FROM job_targets WHERE tenant_id = $1 AND job_id = $2 ORDER BY ordinal"

	approveJob = `UPDATE jobs SET approved_by = $3, approved_at = settlement_now()
		WHERE tenant_id = $1 AND job_id = $2 AND approved_at IS NULL RETURNING approved_at`
)

// Register stores a normalised manifest at the beginning of its progress. Where the id stands already it changes nothing, tells that the
// job is not new, and leaves it to the caller to compare.
func (s *Store) Register(ctx context.Context, tenant ledger.TenantID, m ledger.Manifest, by string) (job Job, isNew bool, err error) {
	var mine time.Time // when this call stored it: a second run, after a lost answer, finds its own row
	err = postgres.InTx(ctx, s.ledger, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		at, err := written(ctx, tx, insertJob, string(tenant), string(m.Job), string(m.Action), m.ChunkSize, len(m.Targets), m.Hash(tenant), by)
		if err != nil {
			return err
		}
		if !at.IsZero() {
			mine = at
			if err := addTargets(ctx, tx, tenant, m); err != nil {
				return err
			}
		}
		job, err = read(ctx, tx, tenant, m.Job, true)
		return err
	})
	if err != nil {
		return Job{}, false, fmt.Errorf("jobdb: register: %w", orNoTenant(err, tenant))
	}
	return job, job.RegisteredAt.Equal(mine), nil
}

func addTargets(ctx context.Context, tx pgx.Tx, tenant ledger.TenantID, m ledger.Manifest) error {
	n := len(m.Targets)
	ids, revisions, units, amounts := make([]string, n), make([]int32, n), make([]string, n), make([]int64, n)
	for i, t := range m.Targets {
		ids[i], revisions[i], units[i], amounts[i] = string(t.Reservation), t.Revision, string(t.Taken.Unit), int64(t.Taken.Amount)
	}
	return expect(int64(n))(tx.Exec(ctx, insertTargets, string(tenant), string(m.Job), ids, revisions, units, amounts))
}

// orNoTenant finds that a job could not be stored because its tenant does not exist.
func orNoTenant(err error, tenant ledger.TenantID) error {
	if le, ok := errors.AsType[*ledger.Error](err); ok && le.Kind == ledger.NotFound {
		return &ledger.Error{Kind: ledger.NotFound, Field: "tenant_id", Message: fmt.Sprintf("tenant %s does not exist", tenant)}
	}
	return err
}

// Approve lets a job run, unless check objects. One that is approved already stays as it is.
func (s *Store) Approve(
	ctx context.Context, tenant ledger.TenantID, id ledger.JobID, by string, check func(*Job) error,
) (job Job, isNew bool, err error) {
	var mine time.Time
	err = postgres.InTx(ctx, s.ledger, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		if job, err = read(ctx, tx, tenant, id, false); err != nil {
			return err
		}
		if err := check(&job); err != nil {
			return err
		}
		at, err := written(ctx, tx, approveJob, string(tenant), string(id), by)
		if err != nil {
			return err
		}
		if !at.IsZero() {
			mine = at
		}
		job, err = read(ctx, tx, tenant, id, false)
		return err
	})
	if err != nil {
		return Job{}, false, fmt.Errorf("jobdb: approve: %w", err)
	}
	return job, job.ApprovedAt.Equal(mine), nil
}

// written returns the time that a statement gave the row that it wrote, or the zero time if it wrote none.
func written(ctx context.Context, tx pgx.Tx, sql string, args ...any) (at time.Time, err error) {
	err = tx.QueryRow(ctx, sql, args...).Scan((*moment)(&at))
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, nil
	}
	return at, err
}
