package jobdb

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// read reads a job. What it leaves for a second statement, the targets, never changes.
func read(ctx context.Context, q querier, tenant ledger.TenantID, id ledger.JobID, targets bool) (Job, error) {
	rows, err := q.Query(ctx, selectJob, string(tenant), string(id))
	j, err := exactly(rows, err, scanJob, missingJob(id))
	if err == nil && targets {
		j.Targets, err = readTargets(ctx, q, tenant, id)
	}
	return j, err
}

func readTargets(ctx context.Context, q querier, tenant ledger.TenantID, id ledger.JobID) ([]ledger.Target, error) {
	rows, err := q.Query(ctx, selectTargets, string(tenant), string(id))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanTarget)
}

// Job returns a job with its targets, between two of its chunks: it waits for one that is under way, for a moment. A plain read would miss a
// chunk whose COMMIT hangs, and whose caller has been told to ask here.
func (s *Store) Job(ctx context.Context, tenant ledger.TenantID, id ledger.JobID) (Job, error) {
	j, err := s.settledJob(ctx, tenant, id)
	if err == nil {
		j.Targets, err = readTargets(ctx, s.read, tenant, id)
	}
	if err != nil {
		return Job{}, fmt.Errorf("jobdb: read job %s: %w", id, err)
	}
	return j, nil
}

// settledJob reads a job's row under a lock, and rolls back: a reader has nothing to commit, and its COMMIT would hang where others' do.
func (s *Store) settledJob(ctx context.Context, tenant ledger.TenantID, id ledger.JobID) (Job, error) {
	tx, err := s.ledger.Begin(ctx)
	if err != nil {
		return Job{}, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		_ = tx.Rollback(ctx) // a connection that cannot roll back is closed
	}()
	rows, err := tx.Query(ctx, selectJob+" FOR SHARE", string(tenant), string(id))
	return exactly(rows, err, scanJob, missingJob(id))
}

const selectJobs = "SELECT " + jobColumns + ` FROM jobs
	WHERE tenant_id = $1 AND (registered_at, job_id) > ($2, $3) AND (cardinality($4::text[]) = 0 OR ` + stateSQL + ` = ANY ($4))
	ORDER BY registered_at, job_id LIMIT $5`

// Jobs returns a page of a tenant's jobs in any of the states, or in all, the oldest first. The next page starts after the last one's
// RegisteredAt and id.
func (s *Store) Jobs(ctx context.Context, tenant ledger.TenantID, states []State, p ledgerdb.Page) ([]Job, error) {
	words := make([]string, len(states))
	for i, w := range states {
		words[i] = string(w)
	}
	rows, err := s.read.Query(ctx, selectJobs, string(tenant), p.After.At, p.After.ID, words, p.Size)
	if err != nil {
		return nil, fmt.Errorf("jobdb: list: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, scanJob)
	if err != nil {
		return nil, fmt.Errorf("jobdb: list: %w", err)
	}
	return jobs, nil
}
