package servicetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// callsMax is how many calls are made at once: enough for full batches.
const callsMax = 256

// stage is a service with many actors on it, and the clock that they share.
type stage struct {
	t      *testing.T
	s      *apptest.Service
	actors []*actor
	now    int64
	decoys int
}

// together does something for each of some actors, many at a time.
func (g *stage) together(actors []*actor, do func(context.Context, *actor)) {
	g.t.Helper()
	var group errgroup.Group
	group.SetLimit(callsMax)
	for _, a := range actors {
		group.Go(func() error {
			do(g.t.Context(), a)
			return nil
		})
	}
	_ = group.Wait() // what went wrong is the actor's
}

// turn stops the clock at a moment.
func (g *stage) turn(now int64) {
	g.now = now
	g.s.StopClock(moment(now))
}

// rehearse takes the steps of all situations, in the order of the clock.
func (g *stage) rehearse() {
	var times []int64
	for _, a := range g.actors {
		for _, s := range a.todo {
			times = append(times, s.at)
		}
	}
	slices.Sort(times)
	for _, now := range slices.Compact(times) {
		g.turn(now)
		for g.round() {
		}
	}
	g.turn(curtain)
}

// round has every actor take its steps of now, and then comes the sweep for those that wait for it. It tells whether anything was done.
func (g *stage) round() bool {
	var acting, waiting []*actor
	for _, a := range g.actors {
		switch due, sweep := a.next(g.now); {
		case due && sweep:
			waiting = append(waiting, a)
		case due:
			acting = append(acting, a)
		}
	}
	switch {
	case len(acting) > 0:
		g.together(acting, func(ctx context.Context, a *actor) { a.act(ctx, g.s, g.now) })
	case len(waiting) > 0:
		g.sweep(waiting)
		for _, a := range waiting {
			a.todo = a.todo[1:]
		}
	}
	return len(acting)+len(waiting) > 0
}

// sweep has the service search for what is due, once. A new replica does so as it starts. What it finds must be waiting for it; a decoy
// that is due in any case shows that it looked.
func (g *stage) sweep(waiting []*actor) {
	g.t.Helper()
	expected := []string{g.decoy()}
	for _, a := range waiting {
		expected = append(expected, a.name)
	}
	const due = `SELECT coalesce(array_agg(reservation_id), '{}') FROM reservations WHERE due_at <= settlement_now()`
	for _, id := range postgrestest.Value[[]string](g.s.DB, due) {
		if !slices.Contains(expected, id) {
			g.t.Fatalf("a sweep would find %s, which does not wait for it", id)
		}
	}
	replica := apptest.On(g.t, g.s.DB)
	postgrestest.Until(g.t, "the sweep has found what is due", func() bool {
		return len(postgrestest.Value[[]string](g.s.DB, due)) == 0
	})
	replica.Stop()
}

// decoy makes a reservation that is due now.
func (g *stage) decoy() string {
	g.t.Helper()
	g.decoys++
	id := fmt.Sprintf("decoy-%d", g.decoys)
	g.s.Granted(g.t, id, "", ofBystander)
	g.s.DB.Exec(`UPDATE reservations SET deadline = settlement_now() WHERE reservation_id = $1`, id)
	return id
}
