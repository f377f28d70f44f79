package bench

import (
	"cmp"
	"slices"
	"strconv"
)

// baseCallers is where the modes are compared with each other.
const baseCallers = 256

// group is points that differ in their mode only, and take turns.
type group []Spec

// plan lists what is measured: every value of each dimension around one point in the middle, not their product.
func (o *Options) plan() []group {
	middle := o.base()
	var groups []group
	vary := func(values []int, of func(*Spec) *int, without ...Mode) {
		for _, n := range values {
			s := middle
			if *of(&s) = n; s != middle { // which is measured already
				groups = append(groups, o.group(s, without...))
			}
		}
	}
	for _, n := range o.callers() {
		s := middle
		s.Callers = n
		groups = append(groups, o.group(s))
	}
	if !o.Quick {
		// a health check has no rows
		vary(o.budgets(), func(s *Spec) *int { return &s.Budgets }, Noop)
		vary(o.accounts(), func(s *Spec) *int { return &s.Accounts }, Noop)
		vary(o.tenants(), func(s *Spec) *int { return &s.Tenants }, Noop)
		vary(o.connections(), func(s *Spec) *int { return &s.Connections })
	}
	return slices.DeleteFunc(groups, func(g group) bool { return len(g) == 0 })
}

// group is a point in all modes but some.
func (o *Options) group(s Spec, without ...Mode) group {
	var g group
	for _, m := range o.Mode {
		if !names(without, m) {
			g = append(g, o.of(m, s))
		}
	}
	return g
}

// base is the point around which each dimension is varied: the usual value where the list has it, else the list's first.
func (o *Options) base() Spec {
	choose := func(values []int, usual int) int {
		if slices.Contains(values, usual) {
			return usual
		}
		return values[0]
	}
	return Spec{
		Callers: choose(o.callers(), baseCallers), Budgets: choose(o.budgets(), 1), Accounts: o.accounts()[0],
		Tenants: choose(o.tenants(), 1), Connections: choose(o.connections(), 1),
	}
}

// of is the point of a mode.
func (o *Options) of(m Mode, s Spec) Spec {
	s.Mode, s.ItemsPerRPC, s.RPCsInFlight = m, 1, s.Callers
	if m == Batch {
		s.ItemsPerRPC, s.RPCsInFlight = o.BatchItems, min(s.Callers, o.BatchRPCs)
	}
	return s
}

// due is the point whose calls are due by the clock, if there is one. Its rate is that of the options, or half of what was reached.
func (o *Options) due(existing int64, reached func(Spec) float64) (Spec, bool) {
	rate := cmp.Or(o.Rate, rateHalf)
	if o.Rate == "" && (o.Quick || !names(o.Mode, Lane)) || rate == rateNone {
		return Spec{}, false
	}
	s := o.of(Lane, o.base())
	s.Existing = existing
	if rate == rateHalf {
		s.Rate, s.Half = reached(s)/2, true
	} else {
		s.Rate, _ = strconv.ParseFloat(rate, 64) // validated
	}
	s.Callers, s.RPCsInFlight = 0, 0
	return s, s.Rate > 0
}

func (o *Options) callers() []int {
	if o.Quick {
		return []int{1, baseCallers}
	}
	return either(o.Callers, 1, 16, 64, baseCallers, 1024)
}

func (o *Options) budgets() []int     { return either(o.Budgets, 1, 10) }
func (o *Options) accounts() []int    { return either(o.Accounts, 10_000, 1) }
func (o *Options) tenants() []int     { return either(o.Tenants, 1, 100) }
func (o *Options) connections() []int { return either(o.Connections, 1, 32) }

func either(chosen []int, usual ...int) []int {
	if len(chosen) > 0 {
		return chosen
	}
	return usual
}
