package statementdb

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/settlementd/settlementd/internal/ledger"
)

const (
	forgetAbsences = "DELETE FROM statement_absences WHERE " + ofStatement + " AND request_key > $4 AND request_key <= $5"

	insertAbsences = `INSERT INTO statement_absences (tenant_id, provider_id, statement_id, request_key, provider_task_id, reservation_id,
			recorded_micros, reason)
		SELECT $1, $2, $3, k.key, k.provider_task_id, k.reservation_id, k.recorded_micros, k.reason
		FROM unnest($4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[]) k (key, provider_task_id, reservation_id, recorded_micros, reason)
		LEFT JOIN LATERAL (SELECT true AS listed FROM (` + lineOfRequest + `) l) t ON true WHERE t.listed IS NULL`

	completeStatement = `UPDATE statements SET completed_at = coalesce(completed_at, settlement_now()), unknown_to_them =
			(SELECT count(*) FROM statement_absences WHERE ` + ofStatement + `)
		WHERE ` + ofStatement + " RETURNING " + statementColumns
)

// FindAbsent looks which of the candidates a statement does not list, and keeps those as its findings about the requests behind a key up to
// another one.
func (s *Store) FindAbsent(ctx context.Context, id ID, after, upTo ledger.RequestKey, candidates []Line) error {
	a := arrays(candidates)
	keys, tasks, reservations, recorded, reasons := a[3], a[4], a[5], a[8], a[10]
	var batch pgx.Batch // one transaction: there is no other statement around it
	batch.Queue(forgetAbsences, id.args(string(after), string(upTo))...)
	batch.Queue(insertAbsences, id.args(keys, tasks, reservations, recorded, reasons)...)
	if err := s.ledger.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("statementdb: find what is absent: %w", err)
	}
	return nil
}

// Complete counts what is absent and marks that an import came to the end of a statement.
func (s *Store) Complete(ctx context.Context, id ID) (Statement, error) {
	found := Statement{ID: id}
	if err := s.ledger.QueryRow(ctx, completeStatement, id.args()...).Scan(found.dests()...); err != nil {
		return Statement{}, fmt.Errorf("statementdb: complete: %w", err)
	}
	return found, nil
}

// Place is where a finding stands in the list: by the number of its line, then by its request. The zero place is before the first.
type Place struct {
	Number int64
	Key    ledger.RequestKey
}

const selectFindings = `(SELECT 0::bigint AS line_number, 'UNKNOWN_TO_THEM' AS verdict, request_key, provider_task_id, reservation_id,
			NULL::bigint, NULL::text, recorded_micros, NULL::text, reason
		FROM statement_absences WHERE ` + ofStatement + ` AND $4::bigint = 0 AND request_key > $5 ORDER BY request_key LIMIT $6)
	UNION ALL
	(SELECT line_number, verdict, request_key, provider_task_id, reservation_id, cost_micros, currency, recorded_micros, exception_id, reason
		FROM statement_lines WHERE ` + ofStatement + ` AND line_number > $4 AND verdict <> ALL ('{MATCHED,KNOWN}') ORDER BY line_number LIMIT $6)
	ORDER BY 1, 3 LIMIT $6`

// Findings returns the lines of a statement that did not simply match, and the requests that it lacks, behind a place.
func (s *Store) Findings(ctx context.Context, id ID, after Place, limit int) ([]Line, error) {
	rows, err := s.read.Query(ctx, selectFindings, id.args(after.Number, string(after.Key), limit)...)
	if err != nil {
		return nil, fmt.Errorf("statementdb: list findings: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanFinding)
	if err != nil {
		return nil, fmt.Errorf("statementdb: list findings: %w", err)
	}
	return found, nil
}

func scanFinding(row pgx.CollectableRow) (l Line, err error) {
	var cost, recorded pgtype.Int8
	var currency word
	err = row.Scan(&l.Number, (*string)(&l.Verdict), (*word)(&l.Key), (*word)(&l.Task), (*word)(&l.Reservation), &cost, &currency, &recorded,
		(*word)(&l.Exception), (*word)(&l.Reason))
	if cost.Valid {
		l.Cost = &ledger.Money{Micros: ledger.Micros(cost.Int64), Currency: string(currency)}
	}
	if recorded.Valid {
		l.Recorded = new(ledger.Micros(recorded.Int64))
	}
	return l, err
}
