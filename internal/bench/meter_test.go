package bench

import (
	"sync"
	"testing"
	"time"
)

// TestAMeterMergesItsCallers has many callers time calls of 1 to 1,000 milliseconds.
func TestAMeterMergesItsCallers(t *testing.T) {
	t.Parallel()
	m := newMeter()
	m.record(0, 1, time.Hour) // it is not open yet
	m.open.Store(true)
	var wg sync.WaitGroup
	for caller := range 100 {
		wg.Go(func() {
			for i := range 10 {
				m.record(caller, 2, time.Duration(caller*10+i+1)*time.Millisecond)
			}
		})
	}
	wg.Wait()
	var got tally
	got.calls, got.times = m.take()
	if got.calls != 2000 || got.times.TotalCount() != 1000 {
		t.Errorf("%d calls in %d RPCs", got.calls, got.times.TotalCount())
	}
	for percent, want := range map[float64]float64{50: 500, 99: 990, 99.9: 999, 100: 1000} {
		if p := got.quantile(percent); p < want*0.999 || p > want*1.001 {
			t.Errorf("p%v is %v, want %v", percent, p, want)
		}
	}
	if calls, times := m.take(); calls != 0 || times.TotalCount() != 0 {
		t.Errorf("taken, it still has %d calls", calls)
	}
}

// TestSlicesOfAPointAreAddedUp has one short and slow, one long and fast.
func TestSlicesOfAPointAreAddedUp(t *testing.T) {
	t.Parallel()
	slice := func(calls int64, each time.Duration, used reading, peak int64) tally {
		one := tally{calls: calls, elapsed: time.Duration(calls) * each, times: newHistogram(), used: used, peakRSS: peak}
		_ = one.times.RecordValues(each.Microseconds(), calls)
		return one
	}
	var sum tally
	sum.add(slice(100, 10*time.Millisecond, reading{client: time.Second, transactions: 50, walBytes: 1000, allocations: 7}, 3<<20))
	sum.add(slice(300, time.Millisecond, reading{client: time.Second, server: 4 * time.Second, transactions: 50, allocatedBytes: 400}, 2<<20))
	p := sum.point(Spec{Mode: Lane})
	want := Point{
		Spec: Spec{Mode: Lane}, Seconds: 1.3, Calls: 400, CallsPerSecond: 400 / 1.3, PairsPerSecond: 200 / 1.3, P50: 1, P99: 10, P999: 10,
		CPU: CPU{Client: 5000, Server: 10_000}, Transactions: 0.25, WALBytes: 2.5, Allocations: 7.0 / 400, AllocatedBytes: 1, PeakRSS: 3,
	}
	p.P50, p.P99, p.P999 = float64(int(p.P50)), float64(int(p.P99)), float64(int(p.P999)) // three digits are kept
	if p != want {
		t.Errorf("%+v\nwant %+v", p, want)
	}
}
