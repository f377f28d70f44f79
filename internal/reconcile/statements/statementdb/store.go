// Package statementdb keeps the usage statements of providers in PostgreSQL: their checkpoints, their lines, and what was found out about
// them. It knows nothing of the ledger's tables: which costs a statement confirms is decided and written elsewhere, before its lines are
// recorded here.
package statementdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/ledger"
)

// Store reads and writes statements.
type Store struct {
	ledger *pgxpool.Pool
	read   *pgxpool.Pool
}

// New makes a store. What an import asks for at every page goes to the ledger's pool, whose plans are pinned: the table of lines grows while
// it is searched. Everything else goes to the pool for reads.
func New(ledgerPool, readPool *pgxpool.Pool) *Store {
	return &Store{ledger: ledgerPool, read: readPool}
}

// ID names a statement.
type ID struct {
	Tenant    ledger.TenantID
	Provider  ledger.ProviderID
	Statement string
}

// args are the arguments of a statement of SQL that starts with the three parts of the id.
func (id ID) args(more ...any) []any {
	return append([]any{string(id.Tenant), string(id.Provider), id.Statement}, more...)
}

const ofStatement = "tenant_id = $1 AND provider_id = $2 AND statement_id = $3"

// Period is the time that a statement covers, without its end. The zero period is none.
type Period struct {
	Start, End time.Time
}

// Counts tell what became of a statement's lines.
type Counts struct {
	Lines        int64
	Matched      int64
	AlreadyKnown int64 // of the matched
	Repeated     int64 // of the already known
	Mismatched   int64
	UnknownToUs  int64
	Bad          int64
}

// Statement is a statement as far as it was imported.
type Statement struct {
	ID
	Period  Period
	Through int64 // the checkpoint: the last line that was taken
	Counts
	UnknownToThem int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
	CompletedAt   time.Time // zero: no import came to its end
}

const statementColumns = `period_start, period_end, lines_through, lines, matched, already_known, repeated, mismatched, unknown_to_us, bad,
	unknown_to_them, created_at, updated_at, completed_at`

func (s *Statement) dests() []any {
	c := &s.Counts
	return []any{
		(*moment)(&s.Period.Start), (*moment)(&s.Period.End), &s.Through, &c.Lines, &c.Matched, &c.AlreadyKnown, &c.Repeated, &c.Mismatched,
		&c.UnknownToUs, &c.Bad, &s.UnknownToThem, (*moment)(&s.CreatedAt), (*moment)(&s.UpdatedAt), (*moment)(&s.CompletedAt),
	}
}

const (
	insertStatement = `INSERT INTO statements (tenant_id, provider_id, statement_id, period_start, period_end, created_at, lines_through, lines,
			matched, already_known, repeated, mismatched, unknown_to_us, bad, unknown_to_them, updated_at)
		SELECT p.tenant_id, p.provider_id, $3, $4, $5, c.now, 0, 0, 0, 0, 0, 0, 0, 0, 0, c.now
		FROM providers p, (SELECT settlement_now() AS now) c WHERE p.tenant_id = $1 AND p.provider_id = $2
		ON CONFLICT DO NOTHING`

	selectStatement = "SELECT " + statementColumns + " FROM statements WHERE " + ofStatement
)

// Begin returns a statement, and makes it where there is none by this id. One that stands keeps its period: it is for the caller to compare.
func (s *Store) Begin(ctx context.Context, id ID, p Period) (Statement, error) {
	found := Statement{ID: id}
	var batch pgx.Batch
	batch.Queue(insertStatement, id.args(nullTime(p.Start), nullTime(p.End))...)
	batch.Queue(selectStatement, id.args()...).QueryRow(func(row pgx.Row) error { return row.Scan(found.dests()...) })
	err := s.ledger.SendBatch(ctx, &batch).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		return Statement{}, missing("header.provider_id", "provider %s", id.Provider)
	}
	if err != nil {
		return Statement{}, fmt.Errorf("statementdb: begin: %w", err)
	}
	return found, nil
}

// Statement returns a statement.
func (s *Store) Statement(ctx context.Context, id ID) (Statement, error) {
	found := Statement{ID: id}
	err := s.read.QueryRow(ctx, selectStatement, id.args()...).Scan(found.dests()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return Statement{}, missing("statement_id", "statement %s of provider %s", id.Statement, id.Provider)
	}
	if err != nil {
		return Statement{}, fmt.Errorf("statementdb: read a statement: %w", err)
	}
	return found, nil
}

func missing(field, format string, args ...any) error {
	return &ledger.Error{Kind: ledger.NotFound, Field: field, Message: fmt.Sprintf(format, args...) + " does not exist"}
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

// nullTime turns the zero time into NULL.
func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
