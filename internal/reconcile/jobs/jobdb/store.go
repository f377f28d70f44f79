// Package jobdb keeps reconciliation jobs in PostgreSQL: their manifests, their progress and their audit. Reservations are locked, read and
// written through ledgerdb alone, but for the report, which compares both in one statement.
//
// A chunk is one transaction. The job's row is its first lock, so the chunks of a job come one after the other, whoever runs them:
//
//	lock the job → compare manifest and audit → lock and change the reservations → add to the audit → move next_index → COMMIT
package jobdb

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/ledger"
)

// Store reads and writes jobs.
type Store struct {
	ledger *pgxpool.Pool
	read   *pgxpool.Pool
}

// New makes a store. Transactions run on the ledger's pool, with its short timeouts; everything else on the pool for reads.
func New(ledgerPool, readPool *pgxpool.Pool) *Store {
	return &Store{ledger: ledgerPool, read: readPool}
}

// Job is a registered manifest with its approval and its progress. Its targets are there where they were asked for.
type Job struct {
	ledger.Manifest
	Hash         string
	Total        int // of the targets
	NextIndex    int // of the targets, how many are done
	RegisteredBy string
	RegisteredAt time.Time
	ApprovedBy   string    // empty: not approved
	ApprovedAt   time.Time // zero: not approved
	ProgressedAt time.Time // zero: nothing is done
}

// State is where a job stands.
type State string

// The states of a job. They follow from its approval and its progress.
const (
	Registered State = "REGISTERED"
	Approved   State = "APPROVED"
	Done       State = "DONE"
)

const stateSQL = "CASE WHEN next_index = total THEN 'DONE' WHEN approved_at IS NULL THEN 'REGISTERED' ELSE 'APPROVED' END"

// State tells where the job stands.
func (j *Job) State() State {
	switch {
	case j.NextIndex == j.Total:
		return Done
	case j.ApprovedAt.IsZero():
		return Registered
	default:
		return Approved
	}
}

const jobColumns = "job_id, action, chunk_size, total, manifest_hash, registered_by, registered_at, approved_by, approved_at, next_index, progressed_at"

// dests are where the columns of a job are scanned to. NULL scans as the zero value.
func (j *Job) dests() []any {
	return []any{
		(*string)(&j.Job), (*string)(&j.Action), &j.ChunkSize, &j.Total, &j.Hash, &j.RegisteredBy, (*moment)(&j.RegisteredAt),
		(*word)(&j.ApprovedBy), (*moment)(&j.ApprovedAt), &j.NextIndex, (*moment)(&j.ProgressedAt),
	}
}

func scanJob(row pgx.CollectableRow) (j Job, err error) {
	err = row.Scan(j.dests()...)
	return j, err
}

const targetColumns = "reservation_id, revision, taken_unit, taken_amount"

func targetDests(t *ledger.Target) []any {
	return []any{(*string)(&t.Reservation), &t.Revision, (*string)(&t.Taken.Unit), (*int64)(&t.Taken.Amount)}
}

func scanTarget(row pgx.CollectableRow) (t ledger.Target, err error) {
	err = row.Scan(targetDests(&t)...)
	return t, err
}

// exactly returns the one row of a statement, or the error that says it is missing.
func exactly[R any](rows pgx.Rows, err error, scan pgx.RowToFunc[R], missing error) (R, error) {
	var none R
	if err != nil {
		return none, err
	}
	r, err := pgx.CollectExactlyOneRow(rows, scan)
	if errors.Is(err, pgx.ErrNoRows) {
		return none, missing
	}
	return r, err
}

func missingJob(id ledger.JobID) error {
	return &ledger.Error{Kind: ledger.NotFound, Field: "job_id", Message: fmt.Sprintf("job %s does not exist", id)}
}

// Scanners that take NULL for the zero value.
type (
	word   string
	moment time.Time
)

// ScanText implements pgtype.TextScanner.
func (w *word) ScanText(v pgtype.Text) error {
	*w = word(v.String)
	return nil
}

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (m *moment) ScanTimestamptz(v pgtype.Timestamptz) error {
	*m = moment{}
	if v.Valid {
		*m = moment(v.Time.UTC())
	}
	return nil
}
