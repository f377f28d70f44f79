package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// holdSnapshot measures the lane mode while a transaction looks at the database as it was before, so that no version of a row that calls
// leave behind can be cleaned up. The rows that every call changes have the most of them.
func (r *runner) holdSnapshot(ctx context.Context) error {
	if r.OldSnapshot == 0 {
		return nil
	}
	conn, err := pgx.Connect(ctx, r.sites[0].place.Owner)
	if err != nil {
		return fmt.Errorf("old snapshot: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT FROM tenants"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("old snapshot: %w", err)
		}
	}
	const tenths = 10
	s := r.of(Lane, r.base())
	s.Existing = r.sites[0].existing
	tallies, err := r.slice(ctx, s, warmUpMax, slices.Repeat([]time.Duration{r.OldSnapshot / tenths}, tenths)...)
	if err != nil {
		return err
	}
	r.snapshot = &OldSnapshot{FirstTenth: tallies[0].perSecond(), LastTenth: tallies[tenths-1].perSecond()}
	for _, t := range tallies {
		r.snapshot.Seconds += t.elapsed.Seconds()
	}
	if q := quotient(r.snapshot.LastTenth, r.snapshot.FirstTenth); q != nil {
		r.snapshot.Ratio = *q
	}
	return nil
}
