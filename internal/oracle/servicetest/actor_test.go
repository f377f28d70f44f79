package servicetest

import (
	"context"
	"fmt"
	"time"

	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/oracle"
)

// curtain is when the calls of all cells are made, in seconds of the stage's clock. Situations begin earlier, each by as long as it takes.
const curtain = 1000

// moment is a time of the stage's clock.
func moment(seconds int64) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// actor plays one cell: a reservation with an account and a provider of its own, all of one name.
type actor struct {
	name  string
	cell  oracle.Cell
	terms oracle.Terms
	cast  *oracle.Cast
	start int64  // of its first step
	todo  []step // before the cell's call

	answer answered
	fault  string // what kept it from its call
}

type step struct {
	at   int64
	call *oracle.Call
}

func newActor(table *oracle.Table, n int, cell oracle.Cell) *actor {
	name := fmt.Sprintf("a%d", n)
	a := &actor{name: name, cell: cell, terms: table.Terms[cell.Situation.Terms], cast: oracle.NewCast(name)}
	at := int64(0)
	for _, s := range cell.Situation.Steps {
		at += s.Wait
		if s.Call != nil {
			at += s.Call.Wait
			a.todo = append(a.todo, step{at, s.Call})
		}
	}
	a.start = curtain - at - cell.Call.Wait
	for i := range a.todo {
		a.todo[i].at += a.start
	}
	return a
}

// another is the reservation that asks for everything.
func (a *actor) another() string { return a.name + "-another" }

// next tells whether the actor has a step to take now, and whether it is a sweep.
func (a *actor) next(now int64) (due, sweep bool) {
	if a.fault != "" || len(a.todo) == 0 || a.todo[0].at != now {
		return false, false
	}
	return true, a.todo[0].call.RPC == "Sweep"
}

// act takes the actor's steps of now, up to one that waits or is swept.
func (a *actor) act(ctx context.Context, s *apptest.Service, now int64) {
	for due, sweep := a.next(now); due && !sweep; due, sweep = a.next(now) {
		c := a.todo[0].call
		a.todo = a.todo[1:]
		answer := call(ctx, s, a, c)
		if answer.shown == nil {
			a.fault = fmt.Sprintf("the step %s was answered %s", c.Name, answer.Answer)
			return
		}
		a.cast.Promote(a.view(answer.shown))
	}
}
