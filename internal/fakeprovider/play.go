package fakeprovider

import (
	"net/http"
	"slices"
	"time"
)

// plan is what a handler has to do for one request: wait at the gate where there is one, then cut the connection or answer.
type plan struct {
	gate     *gate
	cut      bool
	status   int
	body     any // encoded as JSON; a string is sent as it is
	replayed bool
	fault    bool  // a mistake of the sender or a full book: no script applies
	ended    *task // its callbacks go out once the answer was written
}

// heldMax bounds the connections that wait for a release.
const heldMax = 10_000

// gate holds one answer back until somebody releases it.
type gate struct {
	record *record
	opened chan struct{}
	open   bool
	plan   plan        // what to do; read it once opened is closed
	next   func() plan // decides it
	keep   bool        // the release has an effect of its own, even if the sender is gone by then
	stop   func()
}

// shut opens the gate onto a cut connection.
func (g *gate) shut() {
	g.stop()
	g.open, g.plan = true, plan{cut: true}
	close(g.opened)
}

// play answers one POST. The work is asked for at most once, now or at the release.
func (b *book) play(r *record, answer Answer, holdFor time.Duration, work func() plan) plan {
	manner := manners[answer]
	if manner.way == holds && !manner.accepts {
		return b.hold(r, &gate{keep: true, next: func() plan { return b.early(work()) }}, holdFor)
	}
	var p plan
	if manner.accepts {
		if p = work(); p.fault {
			return p
		}
	}
	switch manner.way {
	case losesTaskID:
		p.body = struct{}{}
		return p
	case babbles:
		p.body = `{"task_id": "ta`
		return p
	case fails:
		b.early(p)
		return faulty(http.StatusServiceUnavailable, "scripted_error", "the provider is out of order, as its script says")
	case cuts:
		b.early(p)
		return plan{cut: true}
	case hangs:
		b.early(p)
		return b.hold(r, &gate{next: func() plan { return plan{cut: true} }}, 0)
	case holds:
		p = b.early(p)
		return b.hold(r, &gate{next: func() plan { return p }}, holdFor)
	default:
		return p
	}
}

// early sends the callbacks of a plan before its answer is written.
func (b *book) early(p plan) plan {
	b.dispatch(p.ended)
	p.ended = nil
	return p
}

func (b *book) hold(r *record, g *gate, holdFor time.Duration) plan {
	if b.held >= heldMax {
		return faulty(http.StatusServiceUnavailable, "full", "too many answers are held")
	}
	b.held++
	g.record, g.opened, g.stop = r, make(chan struct{}), func() {}
	r.gates = append(r.gates, g)
	b.count(r, func(c *Counters) { c.Held++ })
	if holdFor > 0 {
		g.stop = b.o.Clock.AfterFunc(holdFor, func() { b.openLater(g) })
	}
	return plan{gate: g}
}

func (b *book) openLater(g *gate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open(g)
}

func (b *book) open(g *gate) {
	if g.open {
		return
	}
	b.drop(g)
	g.open, g.plan = true, g.next()
	close(g.opened)
}

func (b *book) drop(g *gate) {
	r := g.record
	g.stop()
	b.held--
	r.gates = slices.DeleteFunc(r.gates, func(other *gate) bool { return other == g })
	b.count(r, func(c *Counters) { c.Held-- })
}

// leave forgets the answer that a sender no longer waits for. A held acceptance stays: the request may still arrive.
func (b *book) leave(g *gate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g.open || g.keep {
		return
	}
	g.open = true
	b.drop(g)
}

// release opens every held answer of a key, the oldest first, and tells how many there were.
func (b *book) release(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	released := 0
	for _, d := range []*desk{b.generations, b.checks} {
		r := d.records[key]
		if r == nil {
			continue
		}
		for _, g := range slices.Clone(r.gates) {
			b.open(g)
			released++
		}
	}
	return released
}

// faulty answers without playing a script.
func faulty(status int, code, message string) plan {
	return plan{status: status, body: errorMessage{Error: problem{Code: code, Message: message}}, fault: true}
}
