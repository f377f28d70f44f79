package bench

import (
	"fmt"
	"time"
)

const (
	rounds     = 2 // in which the modes of a group take turns
	eachPoint  = 5 * time.Second
	quickPoint = 4 * time.Second
	warmUpMax  = 250 * time.Millisecond
	windowMin  = 100 * time.Millisecond
	sliceMin   = 250 * time.Millisecond // with its warm-up, and the end of what was begun
	runMin     = 2 * time.Second        // in which servers start and stop and the ledger is verified
)

// clock shares the time of a run out among its slices.
type clock struct {
	slices, done int
	window       time.Duration // of each slice, where the run is not bounded
	end          time.Time     // of the last slice, where it is
}

// slicesOf is how many slices the groups come to, with the open loop if there is one.
func (o *Options) slicesOf(groups []group) int {
	points := len(flat(groups))
	if _, wanted := o.due(0, func(Spec) float64 { return 1 }); wanted {
		points++
	}
	return rounds * points * len(o.sizes())
}

// validateFor refuses a bound that leaves the points less time than they need for anything to be seen.
func (o *Options) validateFor() error {
	slices := o.slicesOf(o.plan())
	least := max((time.Duration(slices)*sliceMin+o.OldSnapshot)*5/4, runMin)
	if least = (least + time.Second - 1).Truncate(time.Second); o.For > 0 && o.For < least {
		return fmt.Errorf("for: must be at least %s for the %s of this run, not %s", least, counted(int64(slices/rounds), "point"), o.For)
	}
	return nil
}

func newClock(start time.Time, o *Options, groups []group) *clock {
	c := &clock{slices: o.slicesOf(groups), window: eachPoint / rounds}
	if o.Quick {
		c.window = quickPoint / rounds
	}
	if o.For > 0 {
		c.end = start.Add(o.For*4/5 - o.OldSnapshot) // the rest is for starting, verifying and stopping
	}
	return c
}

// next is how long the next slice warms up, and how long it is measured.
func (c *clock) next() (warmUp, window time.Duration) {
	window = c.window
	if !c.end.IsZero() {
		window = max(time.Until(c.end)/time.Duration(c.slices-c.done)*9/10, windowMin)
	}
	c.done++
	return min(window/10, warmUpMax), window
}

// leaveOut takes a time out of the bounds of the run.
func (c *clock) leaveOut(span time.Duration) {
	if !c.end.IsZero() {
		c.end = c.end.Add(span)
	}
}
