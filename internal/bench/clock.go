package bench

import "time"

const (
	rounds     = 2 // in which the modes of a group take turns
	eachPoint  = 5 * time.Second
	quickPoint = 4 * time.Second
	warmUpMax  = 250 * time.Millisecond
	windowMin  = 100 * time.Millisecond
)

// clock shares the time of a run out among its slices.
type clock struct {
	slices, done int
	window       time.Duration // of each slice, where the run is not bounded
	end          time.Time     // of the last slice, where it is
}

func newClock(start time.Time, o *Options, groups []group) *clock {
	points := len(flat(groups))
	if _, wanted := o.due(0, func(Spec) float64 { return 1 }); wanted {
		points++
	}
	c := &clock{slices: rounds * points * len(o.sizes()), window: eachPoint / rounds}
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
