package bench

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	inFlightMax = 20_000                 // jobs that have begun and not over; more wait, and are late
	lateAfter   = 2 * time.Millisecond   // from here on a call counts as started late by us
	generation  = 250 * time.Millisecond // from when a Reserve is due to when its Settle is
)

// keepPace makes jobs whose calls are due at a fixed rate, whatever becomes of those before them.
func (w *work) keepPace(ctx context.Context, stop *atomic.Bool, late *atomic.Int64) error {
	every := time.Duration(2 * float64(time.Second) / w.spec.Rate) // a pair is two calls
	return pace(ctx, every, inFlightMax, stop, func(ctx context.Context, i int, due time.Time) error {
		if time.Since(due) > lateAfter {
			late.Add(1)
		}
		j := w.next()
		if err := w.reserve(ctx, i, j, due); err != nil {
			return err
		}
		due = due.Add(generation)
		if err := pause(ctx, time.Until(due)); err != nil {
			return err
		}
		return w.settle(ctx, i, j, due)
	})
}

// pace starts do at every multiple of a time, each on its own, and tells it when it was due. Those that were missed are started as soon as
// may be: none is left out. More than a number are not under way at a time. It returns when stop is set and the last one is over.
func pace(ctx context.Context, every time.Duration, most int, stop *atomic.Bool, do func(ctx context.Context, i int, due time.Time) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(most)
	begin := time.Now()
	for i := 0; !stop.Load() && ctx.Err() == nil; i++ {
		due := begin.Add(time.Duration(i) * every)
		if wait := time.Until(due); wait > 0 {
			if pause(ctx, wait) != nil {
				break // the group knows why
			}
		}
		group.Go(func() error { return do(ctx, i, due) })
	}
	return group.Wait()
}
