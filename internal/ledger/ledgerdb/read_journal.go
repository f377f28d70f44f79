package ledgerdb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

var (
	linesOfRequests = each(lines.columns("t"), keysOf("$2"), "lines", "r.request_key = k.id", "") +
		" UNION ALL " + each(lines.columns("t"), keysOf("$3"), "lines", "r.provider_task_id = k.id", "")

	// A page is a stretch of the tenant's keys, however few of its lines are wanted: no statement reads for long.
	linesOfPeriod = `WITH page AS MATERIALIZED (SELECT * FROM lines WHERE tenant_id = $1 AND request_key > $2 ORDER BY request_key LIMIT $3)
		SELECT (SELECT max(request_key) FROM page), ` + lines.columns("t") + `
		FROM (SELECT) one LEFT JOIN page t ON t.provider_id = $4 AND t.permitted_at >= $5 AND t.permitted_at < $6
			AND (t.cost_micros IS NULL OR t.cost_micros + t.cost_adjustment_micros > 0)
		ORDER BY t.request_key`
)

// Requests returns the lines that are named by their keys or by the names that their providers gave them, in the order of their permits.
// The statement is planned anew each time: the journal may have grown a thousandfold since a plan was made.
func (r *Reader) Requests(ctx context.Context, tenant ledger.TenantID, keys []ledger.RequestKey, tasks []ledger.TaskID) ([]ledger.Line, error) {
	rows, err := r.pool.Query(ctx, linesOfRequests, pgx.QueryExecModeExec, string(tenant), sorted(keys), sorted(tasks))
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: read requests: %w", err)
	}
	found, err := lines.collect(rows)
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: read requests: %w", err)
	}
	return inOrderOfPermits(found), nil
}

// PeriodPage asks for requests of a provider that were permitted in a period, which does not include its end.
type PeriodPage struct {
	Provider   ledger.ProviderID
	Start, End time.Time
	After      ledger.RequestKey
	Scan       int // how many of the tenant's requests to look at
}

// ChargedRequests looks at some of a tenant's requests, in the order of their keys, and returns those in the page's period that the
// provider charges for as far as is known: the cost is above zero, or not known yet. Last is the last key that was looked at; it is empty
// after the last request.
func (r *Reader) ChargedRequests(ctx context.Context, tenant ledger.TenantID, p PeriodPage) (found []ledger.Line, last ledger.RequestKey, err error) {
	rows, err := r.pool.Query(ctx, linesOfPeriod, string(tenant), string(p.After), p.Scan, string(p.Provider), p.Start, p.End)
	if err != nil {
		return nil, "", fmt.Errorf("ledgerdb: read a period: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var l ledger.Line
		if err := rows.Scan(lines.dests([]any{(*nullText)(&last)}, &l)...); err != nil {
			return nil, "", fmt.Errorf("ledgerdb: read a period: %w", err)
		}
		if l.Key != "" {
			found = append(found, l)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, "", fmt.Errorf("ledgerdb: read a period: %w", err)
	}
	return found, last, nil
}
