package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tally is what was measured in a slice of time, or in several.
type tally struct {
	calls   int64
	elapsed time.Duration
	times   *hdrhistogram.Histogram
	used    reading
	peakRSS int64
	late    int64
}

// reading is what the counters of the three parties say.
type reading struct {
	client, server, postgres time.Duration // CPU time
	transactions             int64
	walBytes                 int64
	allocations              int64 // of the server
	allocatedBytes           int64
}

func (r reading) since(before reading) reading { return r.plus(before, -1) }

func (r reading) plus(o reading, sign int64) reading {
	return reading{
		r.client + time.Duration(sign)*o.client, r.server + time.Duration(sign)*o.server, r.postgres + time.Duration(sign)*o.postgres,
		r.transactions + sign*o.transactions, r.walBytes + sign*o.walBytes,
		r.allocations + sign*o.allocations, r.allocatedBytes + sign*o.allocatedBytes,
	}
}

// add joins another slice of the same point.
func (t *tally) add(o tally) {
	if t.times == nil {
		t.times = newHistogram()
	}
	t.times.Merge(o.times)
	t.calls += o.calls
	t.elapsed += o.elapsed
	t.used = t.used.plus(o.used, 1)
	t.peakRSS = max(t.peakRSS, o.peakRSS)
	t.late += o.late
}

// perSecond is the throughput in calls.
func (t *tally) perSecond() float64 {
	if t.elapsed == 0 {
		return 0
	}
	return float64(t.calls) / t.elapsed.Seconds()
}

// point is the tally as it is reported.
func (t *tally) point(s Spec) Point {
	each := func(total float64) float64 {
		if t.calls == 0 {
			return 0
		}
		return total / float64(t.calls)
	}
	micros := func(d time.Duration) float64 { return each(float64(d.Nanoseconds()) / 1000) }
	p := Point{
		Spec: s, Seconds: t.elapsed.Seconds(), Calls: t.calls, CallsPerSecond: t.perSecond(),
		P50: t.quantile(50), P99: t.quantile(99), P999: t.quantile(99.9),
		CPU:          CPU{micros(t.used.client), micros(t.used.server), micros(t.used.postgres)},
		Transactions: each(float64(t.used.transactions)), WALBytes: each(float64(t.used.walBytes)),
		Allocations: each(float64(t.used.allocations)), AllocatedBytes: each(float64(t.used.allocatedBytes)),
		PeakRSS: float64(t.peakRSS) / (1 << 20), LateStarts: t.late,
	}
	if s.Mode != Noop {
		p.PairsPerSecond = p.CallsPerSecond / 2
	}
	return p
}

// quantile is in milliseconds.
func (t *tally) quantile(percent float64) float64 {
	return float64(t.times.ValueAtQuantile(percent)) / 1000
}
