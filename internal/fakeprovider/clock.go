package fakeprovider

import (
	"slices"
	"sync"
	"time"
)

// Clock is the time that idempotency windows and timed answers follow.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed, unless stop was called before.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// SystemClock is the clock of this machine.
type SystemClock struct{}

// Now returns the time of this machine.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc calls f in a goroutine of its own.
func (SystemClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}

// ManualClock stands still until a test advances it.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	alarms []*alarm
}

type alarm struct {
	at time.Time
	f  func()
}

// NewManualClock returns a clock that shows start.
func NewManualClock(start time.Time) *ManualClock { return &ManualClock{now: start} }

// Now returns the time that the clock shows.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc calls f from the Advance that reaches its time. A d of zero or less waits for the next Advance, too.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{at: c.now.Add(d), f: f}
	c.alarms = append(c.alarms, a)
	return func() { c.remove(a) }
}

// Advance moves the clock and calls what has become due, the earliest first, before it returns.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due, later []*alarm
	for _, a := range c.alarms {
		if a.at.After(c.now) {
			later = append(later, a)
		} else {
			due = append(due, a)
		}
	}
	c.alarms = later
	c.mu.Unlock()
	slices.SortStableFunc(due, func(a, b *alarm) int { return a.at.Compare(b.at) })
	for _, a := range due {
		a.f() // without the lock: it may set another alarm
	}
}

func (c *ManualClock) remove(a *alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alarms = slices.DeleteFunc(c.alarms, func(other *alarm) bool { return other == a })
}
