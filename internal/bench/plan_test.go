package bench

import (
	"strings"
	"testing"
	"time"
)

func defaults() Options {
	return Options{Mode: []Mode{Noop, Single, Lane, Batch}, BatchItems: 500, BatchRPCs: 4}
}

// TestThePlanVariesOneDimensionAtATime finds every value, and at most one that is not the usual.
func TestThePlanVariesOneDimensionAtATime(t *testing.T) {
	t.Parallel()
	o := defaults()
	specs := flat(o.plan())
	seen := map[string]int{}
	for _, s := range specs {
		var unusual []string
		for name, differs := range map[string]bool{
			"callers": s.Callers != 256, "budgets": s.Budgets != 1, "accounts": s.Accounts != 10_000, "tenants": s.Tenants != 1,
			"connections": s.Connections != 1,
		} {
			if differs {
				unusual = append(unusual, name)
			}
		}
		if len(unusual) > 1 {
			t.Errorf("%+v varies %v", s, unusual)
		}
		seen[strings.Join(unusual, "")]++
		if s.Mode == Batch && (s.ItemsPerRPC != 500 || s.RPCsInFlight != min(s.Callers, 4)) || s.Mode != Batch && s.RPCsInFlight != s.Callers {
			t.Errorf("%+v", s)
		}
	}
	for name, want := range map[string]int{"": 4, "callers": 4 * 4, "budgets": 3, "accounts": 3, "tenants": 3, "connections": 4} {
		if seen[name] != want {
			t.Errorf("%d points vary %q, want %d", seen[name], name, want)
		}
	}
	if s, wanted := o.due(0, func(Spec) float64 { return 9000 }); !wanted || s.Rate != 4500 || s.Mode != Lane || !s.Half {
		t.Errorf("the open loop is %+v, %v", s, wanted)
	}
}

// TestTheQuickPlanIsEightPoints compares the modes where the ratios want them, and leaves the rest out.
func TestTheQuickPlanIsEightPoints(t *testing.T) {
	t.Parallel()
	o := defaults()
	o.Quick = true
	specs := flat(o.plan())
	for _, s := range specs {
		if s.Callers != 1 && s.Callers != 256 || !s.base() {
			t.Errorf("%+v", s)
		}
	}
	c := newClock(time.Now(), &o, o.plan())
	measured := time.Duration(0)
	for range c.slices {
		_, window := c.next()
		measured += window
	}
	if len(specs) != 8 || measured < 8*4*time.Second || measured > 36*time.Second {
		t.Errorf("%d points in %v", len(specs), measured)
	}
}

// TestARunIsBounded shares the time out whatever was lost on the way.
func TestARunIsBounded(t *testing.T) {
	t.Parallel()
	o := defaults()
	o.For = time.Minute
	c := newClock(time.Now(), &o, o.plan())
	c.end = time.Now().Add(-time.Second) // all was lost
	if _, window := c.next(); window != windowMin {
		t.Errorf("a slice takes %v", window)
	}
	c.leaveOut(time.Second + time.Duration(c.slices)*time.Second)
	if _, window := c.next(); window < 800*time.Millisecond || window > time.Second {
		t.Errorf("a slice takes %v", window)
	}
}

// TestOptionsThatMakeNoSenseAreNamed leaves the others alone.
func TestOptionsThatMakeNoSenseAreNamed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"callers":     func(o *Options) { o.Callers = []int{1, 0} },
		"accounts":    func(o *Options) { o.Accounts = []int{-1} },
		"batch-items": func(o *Options) { o.BatchItems = 1001 },
		"batch-rpcs":  func(o *Options) { o.BatchRPCs = 0 },
		"existing":    func(o *Options) { o.Existing = []int64{10, 5} },
		"for":         func(o *Options) { o.For = -1 },
		"for: must be at least 22s for the 34 points of this run, not 21.9s": func(o *Options) { o.For = 21900 * time.Millisecond },
		"for: must be at least 2s for the 1 point of this run, not 1s": func(o *Options) {
			o.For, o.Mode, o.Rate, o.Callers, o.Budgets, o.Accounts, o.Tenants, o.Connections = time.Second, []Mode{Noop}, rateNone, []int{1}, []int{1}, []int{1}, []int{1}, []int{1}
		},
		"for: must be at least 9s for": func(o *Options) { o.For, o.Quick, o.OldSnapshot = 8*time.Second, true, 3*time.Second },
		"rate":                         func(o *Options) { o.Rate = "fast" },
		"rate: half":                   func(o *Options) { o.Rate, o.Mode = rateHalf, []Mode{Noop} },
	} {
		o := defaults()
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if err := o.Validate(); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s: told %v", name, err)
		}
	}
}

// TestOneIsToldAsOne reads the titles of points.
func TestOneIsToldAsOne(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Spec{
		"lane, 1 caller": {Mode: Lane, Callers: 1}, "noop, 16 callers, 1 account": {Mode: Noop, Callers: 16, Accounts: 1},
		"batch, 1 caller, 1 reservation before": {Mode: Batch, Callers: 1, Existing: 1},
	} {
		if got := s.Title(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
