package ledgerdb

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/ledger"
)

// Invariant is something that is always true of a tenant's rows. Its query recomputes it for all of them at once.
type Invariant struct {
	Name     string
	Sentence string
	pairs    string // selects place, expected, actual of every row that the invariant speaks of; $1 is the tenant
}

// Finding is a row of which an invariant is not true.
type Finding struct {
	Invariant string
	Where     string
	Expected  string
	Actual    string // with its difference from Expected where both are numbers
}

// findingsMax is how many findings of one invariant are told; a table that was cut off breaks it for every row.
const findingsMax = 1000

// Invariants lists what Verify recomputes.
func Invariants() []Invariant {
	return slices.Concat(accountInvariants, budgetInvariants, reservationInvariants, archiveInvariants, journalInvariants, jobInvariants, statementInvariants, guardInvariants)
}

// Verify recomputes every invariant of a tenant, all as of one moment, and returns what is broken. It locks nothing, and may take its
// time: only ctx ends it early.
func Verify(ctx context.Context, pool *pgxpool.Pool, tenant ledger.TenantID) ([]Finding, error) {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: verify: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, verifySettings); err != nil {
		return nil, fmt.Errorf("ledgerdb: verify: %w", err)
	}
	var exists bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM tenants WHERE tenant_id = $1)", string(tenant)).Scan(&exists); err != nil {
		return nil, fmt.Errorf("ledgerdb: verify: %w", err)
	}
	if !exists {
		return nil, missing("tenant_id", "tenant %s", tenant)
	}
	var found []Finding
	for _, i := range Invariants() {
		broken, err := i.check(ctx, tx, tenant)
		if err != nil {
			return nil, fmt.Errorf("ledgerdb: verify %s: %w", i.Name, err)
		}
		found = append(found, broken...)
	}
	return found, nil
}

// verifySettings let a query take its time, and have it read every table once. The planner expects that most rows are wrong, and that the first
// thousand of them come soon: then comparing each row with all of another table looks cheap, and takes for ever where none is wrong.
const verifySettings = "SELECT set_config('statement_timeout', '0', true), set_config('enable_nestloop', 'off', true)"

func (i *Invariant) sql() string {
	return fmt.Sprintf(`SELECT place, expected::text, actual::text FROM (%s) pairs (place, expected, actual)
		WHERE expected IS DISTINCT FROM actual ORDER BY place LIMIT %d`, i.pairs, findingsMax)
}

// check returns the rows of which the invariant is not true.
func (i *Invariant) check(ctx context.Context, tx pgx.Tx, tenant ledger.TenantID) ([]Finding, error) {
	rows, err := tx.Query(ctx, i.sql(), string(tenant))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Finding, error) {
		f := Finding{Invariant: i.Name}
		err := row.Scan(&f.Where, (*nullText)(&f.Expected), (*nullText)(&f.Actual))
		f.Actual = signed(f.Expected, f.Actual)
		return f, err
	})
}

// signed adds to a number by how much it differs from what was expected.
func signed(expected, actual string) string {
	e, isNumber := new(big.Int).SetString(expected, 10)
	a, alsoNumber := new(big.Int).SetString(actual, 10)
	if !isNumber || !alsoNumber {
		return actual
	}
	return fmt.Sprintf("%s (%+d)", actual, a.Sub(a, e))
}
