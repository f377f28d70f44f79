package statementdb

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
)

// Verdict is what became of a line.
type Verdict string

// The verdicts. UnknownToThem is that of a request of the journal which the statement does not list.
const (
	Matched       Verdict = "MATCHED"  // it made a cost known
	Known         Verdict = "KNOWN"    // the cost was known before
	Repeated      Verdict = "REPEATED" // the cost was known, and an earlier line of the statement had charged the same request
	Mismatch      Verdict = "MISMATCH"
	UnknownToUs   Verdict = "UNKNOWN_TO_US"
	Bad           Verdict = "BAD"
	UnknownToThem Verdict = "UNKNOWN_TO_THEM"
)

// Line is a line of a statement with its verdict. What is not known is zero.
type Line struct {
	Number      int64
	Hash        Hash
	Verdict     Verdict
	Key         ledger.RequestKey
	Task        ledger.TaskID
	Reservation ledger.ReservationID
	Cost        *ledger.Money // as the statement says it
	Recorded    *ledger.Micros
	Exception   ledger.ExceptionID
	Reason      string
}

// Hash tells the content of one line from that of another.
type Hash [16]byte

// countOf adds up the verdicts of lines.
func countOf(lines []Line) Counts {
	c := Counts{Lines: int64(len(lines))}
	for i := range lines {
		switch lines[i].Verdict {
		case Mismatch:
			c.Mismatched++
		case UnknownToUs:
			c.UnknownToUs++
		case Bad:
			c.Bad++
		case Repeated:
			c.Repeated++
			c.AlreadyKnown++
			c.Matched++
		case Known:
			c.AlreadyKnown++
			c.Matched++
		default:
			c.Matched++
		}
	}
	return c
}

const (
	lockCheckpoint = "SELECT lines_through FROM statements WHERE " + ofStatement + " FOR NO KEY UPDATE"

	insertLines = `INSERT INTO statement_lines (tenant_id, provider_id, statement_id, line_number, content_hash, verdict, request_key,
			provider_task_id, reservation_id, cost_micros, currency, recorded_micros, exception_id, reason)
		SELECT $1, $2, $3, u.* FROM unnest($4::bigint[], $5::bytea[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[], $11::text[],
			$12::bigint[], $13::text[], $14::text[]) u`

	moveCheckpoint = `UPDATE statements SET lines_through = $4, lines = lines + $5, matched = matched + $6, already_known = already_known + $7,
			repeated = repeated + $8, mismatched = mismatched + $9, unknown_to_us = unknown_to_us + $10, bad = bad + $11,
			updated_at = settlement_now(), completed_at = NULL
		WHERE ` + ofStatement
)

// Record adds lines behind a checkpoint and moves it to the last of them, in one transaction. Where the checkpoint is no longer the one
// that is given, it changes nothing and answers false: another import has taken lines meanwhile.
func (s *Store) Record(ctx context.Context, id ID, checkpoint int64, lines []Line) (moved bool, err error) {
	through := lines[len(lines)-1].Number
	committing := false // this very call has got as far as COMMIT: a second run, after a lost answer, finds its own effect
	err = postgres.InTx(ctx, s.ledger, postgres.TxOptions{}, func(ctx context.Context, tx pgx.Tx) error {
		var stands int64
		if err := tx.QueryRow(ctx, lockCheckpoint, id.args()...).Scan(&stands); err != nil {
			return err
		}
		if moved = stands == checkpoint; !moved {
			moved = committing && stands == through
			return nil
		}
		committing = true
		c := countOf(lines)
		var batch pgx.Batch
		batch.Queue(insertLines, id.args(arrays(lines)...)...)
		batch.Queue(moveCheckpoint, id.args(
			through, c.Lines, c.Matched, c.AlreadyKnown, c.Repeated, c.Mismatched, c.UnknownToUs, c.Bad)...)
		return tx.SendBatch(ctx, &batch).Close()
	})
	if err != nil {
		return false, fmt.Errorf("statementdb: record lines: %w", err)
	}
	return moved, nil
}

// arrays are the columns of lines, in the order in which insertLines takes them.
func arrays(lines []Line) []any {
	var (
		n                                     = len(lines)
		numbers                               = make([]int64, n)
		hashes                                = make([][]byte, n)
		verdicts                              = make([]string, n)
		keys, tasks, reservations, currencies = make([]*string, n), make([]*string, n), make([]*string, n), make([]*string, n)
		costs, recorded                       = make([]*int64, n), make([]*int64, n)
		exceptions, reasons                   = make([]*string, n), make([]*string, n)
	)
	for i := range lines {
		l := &lines[i]
		numbers[i], hashes[i], verdicts[i] = l.Number, l.Hash[:], string(l.Verdict)
		keys[i], tasks[i], reservations[i] = optional(&l.Key), optional(&l.Task), optional(&l.Reservation)
		if l.Cost != nil {
			costs[i], currencies[i] = (*int64)(&l.Cost.Micros), &l.Cost.Currency
		}
		recorded[i], exceptions[i], reasons[i] = (*int64)(l.Recorded), optional(&l.Exception), optional(&l.Reason)
	}
	return []any{numbers, hashes, verdicts, keys, tasks, reservations, costs, currencies, recorded, exceptions, reasons}
}

// optional turns the empty text into NULL.
func optional[S ~string](s *S) *string {
	if *s == "" {
		return nil
	}
	return new(string(*s))
}

// Each line and each request is looked up by itself: given a list to compare with, a planner that believes the table to be small, as it does
// of one that was empty a minute ago, reads all lines of the statement.
const (
	selectCheckpoint = "SELECT lines_through FROM statements WHERE " + ofStatement

	selectHashes = `SELECT t.line_number, t.content_hash FROM unnest($4::bigint[]) k (number)
		CROSS JOIN LATERAL (SELECT line_number, content_hash FROM statement_lines WHERE ` + ofStatement + ` AND line_number = k.number OFFSET 0) t`

	selectListed = `SELECT k.key FROM unnest($4::text[]) k (key) CROSS JOIN LATERAL (` + lineOfRequest + `) t`

	// lineOfRequest is a line of the statement that is about the request k.key. The names of provider and statement are compared in a way
	// that leads to no index, so that the one of requests is left.
	lineOfRequest = `SELECT FROM statement_lines WHERE tenant_id = $1 AND request_key = k.key AND reservation_id IS NOT NULL
		AND provider_id IS NOT DISTINCT FROM $2 AND statement_id IS NOT DISTINCT FROM $3 LIMIT 1`
)

// Taken returns a statement's checkpoint, and the contents of those of the numbered lines that were taken already.
func (s *Store) Taken(ctx context.Context, id ID, numbers []int64) (checkpoint int64, taken map[int64]Hash, err error) {
	taken = map[int64]Hash{}
	var batch pgx.Batch
	batch.Queue(selectCheckpoint, id.args()...).QueryRow(func(row pgx.Row) error { return row.Scan(&checkpoint) })
	batch.Queue(selectHashes, id.args(numbers)...).Query(func(rows pgx.Rows) error {
		var number int64
		var hash []byte
		_, err := pgx.ForEachRow(rows, []any{&number, &hash}, func() error {
			taken[number] = Hash(hash)
			return nil
		})
		return err
	})
	if err := s.ledger.SendBatch(ctx, &batch).Close(); err != nil {
		return 0, nil, fmt.Errorf("statementdb: read the checkpoint: %w", err)
	}
	return checkpoint, taken, nil
}

// Listed tells which of the requests the lines taken so far were matched with.
func (s *Store) Listed(ctx context.Context, id ID, keys []ledger.RequestKey) (map[ledger.RequestKey]bool, error) {
	rows, err := s.ledger.Query(ctx, selectListed, id.args(texts(keys))...)
	if err != nil {
		return nil, fmt.Errorf("statementdb: which requests are listed: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("statementdb: which requests are listed: %w", err)
	}
	listed := make(map[ledger.RequestKey]bool, len(found))
	for _, key := range found {
		listed[ledger.RequestKey(key)] = true
	}
	return listed, nil
}

func texts[K ~string](keys []K) []string {
	s := make([]string, len(keys))
	for i, k := range keys {
		s[i] = string(k)
	}
	return s
}
