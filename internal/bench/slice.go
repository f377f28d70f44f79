package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// slice measures a point for some windows of time, one right after the other. Callers warm up first, and end what they have begun.
func (r *runner) slice(ctx context.Context, s Spec, warmUp time.Duration, windows ...time.Duration) ([]tally, error) {
	site := r.site(s)
	w := &work{spec: s, ids: r.nextIDs(), meter: newMeter()}
	for range s.Connections {
		conn, err := grpc.NewClient(site.server(s.Mode).address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		defer func() { _ = conn.Close() }()
		w.conns = append(w.conns, conn)
	}
	group, ctx := errgroup.WithContext(ctx)
	var stop atomic.Bool
	late := new(atomic.Int64)
	if s.Rate > 0 {
		group.Go(func() error { return w.keepPace(ctx, &stop, late) })
	}
	for caller := range s.RPCsInFlight {
		group.Go(func() error { return w.call(ctx, caller, &stop) })
	}
	tallies, err := r.watch(ctx, w, site, late, warmUp, windows)
	stop.Store(true)
	if failed := group.Wait(); failed != nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Title(), err)
	}
	return tallies, nil
}

// call is one caller of a closed loop.
func (w *work) call(ctx context.Context, caller int, stop *atomic.Bool) error {
	for !stop.Load() {
		if err := w.round(ctx, caller); err != nil {
			return err
		}
	}
	return nil
}

// watch opens the meter for each window and reads what was counted in it.
func (r *runner) watch(ctx context.Context, w *work, site *site, late *atomic.Int64, warmUp time.Duration, windows []time.Duration) ([]tally, error) {
	if err := pause(ctx, warmUp); err != nil {
		return nil, err
	}
	before, _, err := site.read(ctx, w.spec.Mode, true)
	if err != nil {
		return nil, err
	}
	late.Store(0)
	w.meter.take()
	w.meter.open.Store(true)
	defer w.meter.open.Store(false)
	var tallies []tally
	start := time.Now()
	for _, window := range windows {
		if err := pause(ctx, window-time.Since(start)); err != nil {
			return nil, err
		}
		t := tally{elapsed: time.Since(start), late: late.Swap(0)}
		start = time.Now()
		t.calls, t.times = w.meter.take()
		after, peak, err := site.read(ctx, w.spec.Mode, false)
		if err != nil {
			return nil, err
		}
		t.used, t.peakRSS = after.since(before), peak
		tallies, before = append(tallies, t), after
	}
	return tallies, nil
}

// read reads all counters, and the peak of memory of the mode's server.
func (s *site) read(ctx context.Context, m Mode, forget bool) (reading, int64, error) {
	u, err := s.server(m).usage(forget)
	if err != nil {
		return reading{}, 0, err
	}
	transactions, walBytes, err := s.db.counters(ctx)
	if err != nil {
		return reading{}, 0, err
	}
	return reading{
		client: ownTime(), server: u.CPU, postgres: familyTime(s.db.pid),
		transactions: transactions, walBytes: walBytes, allocations: u.Allocations, allocatedBytes: u.AllocatedBytes,
	}, u.PeakRSS, nil
}

// pause waits, but not when ctx ends.
func pause(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
