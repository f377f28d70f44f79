package oracle

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// standing is what a situation shows that does not say otherwise.
var standing = View{State: "PENDING", Credit: "HELD", Slot: "HELD", Budget: "HELD", Output: "NONE"}

func (r *reader) readSituations() {
	for _, w := range r.rows("Situations", "situation", "from", "step", "what stands") {
		s := &Situation{Name: w.cells[0], Terms: "plain", Stands: View{}, line: w.line}
		if _, twice := r.table.SituationNamed(s.Name); twice {
			r.complain(w.line, "the situation %q stands twice", s.Name)
		}
		if w.cells[3] != "nothing" {
			maps.Copy(s.Stands, standing)
			changes, _, _ := r.readMoves(w.line, w.cells[3])
			maps.Copy(s.Stands, changes)
		}
		r.readOrigin(s, w.cells[1], w.cells[2])
		r.table.Situations = append(r.table.Situations, s)
		r.groups[s.Name] = []*Situation{s}
	}
}

// readOrigin reads the situation that one comes from, and the step between them.
func (r *reader) readOrigin(s *Situation, from, step string) {
	if from == "" {
		if step != "" || len(s.Stands) > 0 {
			r.complain(s.line, "%q comes from nowhere", s.Name)
		}
		return
	}
	var origins []*Situation
	for name := range strings.SplitSeq(from, ",") {
		origin, found := r.table.SituationNamed(strings.TrimSpace(name))
		if !found {
			r.complain(s.line, "no situation %q before this one", strings.TrimSpace(name))
			return
		}
		origins = append(origins, origin)
	}
	origin := origins[0]
	if call, _ := r.table.CallNamed(step); call != nil && call.RPC == "Sweep" {
		for _, o := range origins {
			o.Swept = s.Name
		}
	} else if len(origins) > 1 {
		r.complain(s.line, "only a sweep makes the same of several situations")
	}
	s.from, s.Terms, s.Steps = origin, origin.Terms, slices.Clone(origin.Steps)
	kind, rest, _ := strings.Cut(step, " ")
	switch kind {
	case "terms":
		if _, known := r.table.Terms[rest]; !known {
			r.complain(s.line, "no such terms: %q", rest)
		}
		s.Terms = rest
	case "wait":
		seconds, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || seconds <= 0 {
			r.complain(s.line, "%q is no time to wait", rest)
		}
		s.Steps = append(s.Steps, Step{Wait: seconds})
	default:
		call, known := r.table.CallNamed(step)
		if !known {
			r.complain(s.line, "no such step: %q", step)
			return
		}
		s.Steps = append(s.Steps, Step{Call: call})
	}
}

// lastCall is the call that leads from the origin, or nil for a wait and for other terms.
func (s *Situation) lastCall() *Call {
	if s.from == nil || len(s.Steps) == len(s.from.Steps) {
		return nil
	}
	return s.Steps[len(s.Steps)-1].Call
}

// checkSteps holds what a situation says of itself against what the cell of its step moves: the page must agree with itself.
func (r *reader) checkSteps() {
	for _, s := range r.table.Situations {
		if s.from == nil {
			continue
		}
		want := s.from.Stands
		if call := s.lastCall(); call != nil {
			cell, found := r.table.Cell(call.Name, s.from.Name)
			if !found {
				r.complain(s.line, "the step %q has no cell in the situation %q", call.Name, s.from.Name)
				continue
			}
			want = cell.Moves.After(s.from.Stands, 0).Timeless().promoted()
		}
		if !maps.Equal(s.Stands, want) {
			r.complain(s.line, "%q says that %v stands, its step says %v", s.Name, s.Stands, want)
		}
	}
}

func (r *reader) readGroups() {
	for _, w := range r.rows("Groups", "group", "situations") {
		if _, twice := r.groups[w.cells[0]]; twice {
			r.complain(w.line, "the name %q stands twice", w.cells[0])
		}
		r.groups[w.cells[0]] = r.expand(w.line, w.cells[1])
	}
}

// expand reads a list of situations and groups, where !name takes out again.
func (r *reader) expand(line int, list string) []*Situation {
	var out []*Situation
	var taken []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		bare, takeOut := strings.CutPrefix(name, "!")
		members, known := r.groups[bare]
		if !known {
			r.complain(line, "no situation or group %q", bare)
			continue
		}
		if takeOut {
			taken = append(taken, bare)
			continue
		}
		out = append(out, members...)
	}
	for _, name := range taken {
		before := len(out)
		out = slices.DeleteFunc(out, func(s *Situation) bool { return slices.Contains(r.groups[name], s) })
		if len(out) == before {
			r.complain(line, "!%s takes nothing out", name)
		}
	}
	return out
}
