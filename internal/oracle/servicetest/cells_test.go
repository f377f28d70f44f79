package servicetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/oracle"
)

// otherBatchings are settings that decide which calls share a transaction, beside full batches.
var otherBatchings = []struct {
	name   string
	change func(*app.Config)
}{
	{"one at a time", func(c *app.Config) { c.BatchMax, c.PoolSize = 1, 1 }},
	{"in threes", func(c *app.Config) { c.BatchMax = 3 }},
	{"without a lane", func(c *app.Config) { c.Alone, c.PoolSize = true, 16 }},
}

// TestEveryCell plays every call in every situation, in full batches and then under one of the other batchings, and compares the answer and
// all that moved with the table. A sweep comes for all reservations of a database, so those that it may take and those that it may not do not
// share one.
func TestEveryCell(t *testing.T) {
	t.Parallel()
	table, err := oracle.Read()
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string][]oracle.Cell{}
	for _, cell := range table.Cells {
		groups[group(cell)] = append(groups[group(cell)], cell)
	}
	for name, cells := range groups {
		play := func(batching string, cells []oracle.Cell, change func(*app.Config)) {
			t.Run(name+", "+batching, func(t *testing.T) {
				t.Parallel()
				g := newStage(t, table, cells, change)
				g.rehearse()
				g.perform()
				g.s.Verify(t)
				t.Logf("%d cells", len(cells))
			})
		}
		play("full batches", cells, func(*app.Config) {})
		for n, other := range otherBatchings {
			play(other.name, every(len(otherBatchings), n, cells), other.change)
		}
	}
}

// every takes one of so many cells, from a first one on.
func every(step, first int, cells []oracle.Cell) []oracle.Cell {
	var taken []oracle.Cell
	for i := first; i < len(cells); i += step {
		taken = append(taken, cells[i])
	}
	return taken
}

// group tells when a cell meets a sweep.
func group(cell oracle.Cell) string {
	sweeps := func(s oracle.Step) bool { return s.Call != nil && s.Call.RPC == "Sweep" }
	switch {
	case slices.ContainsFunc(cell.Situation.Steps, sweeps):
		return "after a sweep"
	case cell.Call.RPC == "Sweep":
		return "the sweep"
	default:
		return "no sweep"
	}
}

// perform makes the calls of all cells, and judges them.
func (g *stage) perform() {
	g.t.Helper()
	var calling, waiting []*actor
	for _, a := range g.actors {
		switch {
		case a.fault != "":
			g.t.Errorf("%s: %s", a.cell.Name(), a.fault)
		case a.cell.Call.RPC == "Sweep":
			waiting = append(waiting, a)
		default:
			calling = append(calling, a)
		}
	}
	others, before := g.bystanders(), g.see()
	g.together(calling, func(ctx context.Context, a *actor) { a.answer = call(ctx, g.s, a, a.cell.Call) })
	if now := g.bystanders(); now != others {
		g.t.Error("a call touched what it is not about")
	}
	if len(waiting) > 0 {
		g.sweep(waiting)
	}
	after := g.see()
	for _, a := range slices.Concat(calling, waiting) {
		if wrong := a.judge(before[a.name], after[a.name]); len(wrong) > 0 {
			g.t.Errorf("%s:%d: %s: %s\n\t%s", oracle.PageName, a.cell.Line, a.cell.Name(), a.cell.Answer, strings.Join(wrong, "\n\t"))
		}
	}
}

// judge compares what the actor was answered and what moved with its cell.
func (a *actor) judge(before, after oracle.Seen) []string {
	if a.cell.Call.RPC == "Sweep" { // it answers nobody
		a.answer.Word = "NOTHING"
		if after.Revision != before.Revision {
			a.answer.Word = "SWEPT"
		}
	}
	wrong := a.cell.Judge(a.terms, before, after, a.answer.Answer, curtain-a.start)
	if a.cell.Call.RPC != "Sweep" {
		want := slices.Sorted(slices.Values(a.cell.Moves.Exceptions))
		if fmt.Sprint(want) != fmt.Sprint(a.answer.named) {
			wrong = append(wrong, fmt.Sprintf("the exceptions named: want %v, got %v", want, a.answer.named))
		}
	}
	if a.answer.shown != nil && a.answer.shown.GetReservationId() == a.name && !maps.Equal(a.view(a.answer.shown), after.View) {
		wrong = append(wrong, fmt.Sprintf("the answer shows %v, and %v stands", a.view(a.answer.shown), after.View))
	}
	return wrong
}
