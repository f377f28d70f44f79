package bench

import (
	"context"
	"fmt"
	"time"
)

// commitSpan is how long commits are timed before and after the calls that they are held against.
const commitSpan = 400 * time.Millisecond

// commits updates one row and commits, on one connection, again and again for a time.
func (d *database) commits(ctx context.Context, into *tally) error {
	for _, sql := range []string{
		`CREATE TABLE IF NOT EXISTS settlementd_bench (id int PRIMARY KEY, n bigint NOT NULL)`,
		`INSERT INTO settlementd_bench VALUES (1, 0) ON CONFLICT DO NOTHING`,
	} {
		if _, err := d.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("time a commit: %w", err)
		}
	}
	times := newHistogram()
	begin, n := time.Now(), int64(0)
	for ; time.Since(begin) < commitSpan; n++ {
		start := time.Now()
		if _, err := d.conn.Exec(ctx, `UPDATE settlementd_bench SET n = n + 1 WHERE id = 1`); err != nil {
			return fmt.Errorf("time a commit: %w", err)
		}
		_ = times.RecordValue(min(time.Since(start).Microseconds(), longestTime.Microseconds())) // within its bounds
	}
	into.add(tally{calls: n, elapsed: time.Since(begin), times: times})
	return nil
}
