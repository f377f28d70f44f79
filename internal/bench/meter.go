package bench

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	shards      = 16
	longestTime = time.Minute
)

// meter counts and times the calls that are answered while it is open.
type meter struct {
	open   atomic.Bool
	shards [shards]shard
}

type shard struct {
	mu    sync.Mutex
	calls int64
	times *hdrhistogram.Histogram
	_     [64]byte // the next one is another core's
}

func newMeter() *meter {
	m := &meter{}
	for i := range m.shards {
		m.shards[i].times = newHistogram()
	}
	return m
}

// newHistogram counts microseconds with three digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, longestTime.Microseconds(), 3)
}

// record counts an RPC of a caller, with so many calls in it, that took a time.
func (m *meter) record(caller, calls int, took time.Duration) {
	if !m.open.Load() {
		return
	}
	s := &m.shards[caller%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls += int64(calls)
	_ = s.times.RecordValue(min(max(took.Microseconds(), 1), longestTime.Microseconds())) // within its bounds
}

// take returns what was counted since the last time, and begins anew.
func (m *meter) take() (calls int64, times *hdrhistogram.Histogram) {
	times = newHistogram()
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		calls += s.calls
		times.Merge(s.times)
		s.calls = 0
		s.times.Reset()
		s.mu.Unlock()
	}
	return calls, times
}
