package jobdb

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

// Report is what a job did and what its reservations are now, all as of one moment.
type Report struct {
	Job   Job // with its targets
	Found []Found
}

// Found is what became of a target's reservation.
type Found struct {
	Exists bool
	Now    ledger.Reservation // its revision, what it took, its state and the kind and stage of its outcome
	Since  []ledger.EventType // what happened to it after the revision that the job gave it, at most eventsMax
}

const eventsMax = 64

// A row is a target with its reservation. The changes of a reservation that it had after the job are found by their keys.
const report = "SELECT " + jobColumns + ", t.* FROM (SELECT " + jobColumns + ` FROM jobs WHERE tenant_id = $1 AND job_id = $2) j
	CROSS JOIN LATERAL (
		SELECT t.reservation_id, t.revision, t.taken_unit, t.taken_amount,
			r.reservation_id IS NOT NULL, coalesce(r.revision, 0), coalesce(r.taken_unit, ''), coalesce(r.taken_amount, 0), coalesce(r.state, ''),
			coalesce(r.outcome_kind, ''), coalesce(r.outcome_stage, ''),
			ARRAY (
				SELECT e.event_type FROM generate_series(t.revision::bigint + 2, least(r.revision, t.revision::bigint + 1 + $3)) later
				JOIN entries e ON e.tenant_id = $1 AND e.event_key = 'change ' || t.reservation_id || ' ' || later
				ORDER BY later
			)
		FROM job_targets t
		LEFT JOIN all_reservations r ON r.tenant_id = $1 AND r.reservation_id = t.reservation_id
		WHERE t.tenant_id = $1 AND t.job_id = $2 ORDER BY t.ordinal
	) t`

// Report compares a job with the ledger by one statement that writes nothing.
func (s *Store) Report(ctx context.Context, tenant ledger.TenantID, id ledger.JobID) (Report, error) {
	var r Report
	rows, err := s.read.Query(ctx, report, string(tenant), string(id), eventsMax)
	if err != nil {
		return r, fmt.Errorf("jobdb: report: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := r.add(rows); err != nil {
			return r, fmt.Errorf("jobdb: report: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return r, fmt.Errorf("jobdb: report: %w", err)
	}
	if len(r.Found) == 0 {
		return r, missingJob(id)
	}
	return r, nil
}

func (r *Report) add(rows pgx.Rows) error {
	var t ledger.Target
	var f Found
	var end ledger.Outcome
	var since []string
	dests := append(r.Job.dests(), targetDests(&t)...)
	dests = append(dests, &f.Exists, &f.Now.Revision, (*string)(&f.Now.Taken.Unit), (*int64)(&f.Now.Taken.Amount), (*string)(&f.Now.State),
		(*string)(&end.Kind), (*string)(&end.Stage), &since)
	if err := rows.Scan(dests...); err != nil {
		return err
	}
	f.Now.ID = t.Reservation
	if end.Kind != "" {
		f.Now.Outcome = &end
	}
	for _, e := range since {
		f.Since = append(f.Since, ledger.EventType(e))
	}
	r.Job.Targets, r.Found = append(r.Job.Targets, t), append(r.Found, f)
	return nil
}
