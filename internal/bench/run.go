package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Config says where a run finds everything.
type Config struct {
	Options
	Database    func(ctx context.Context, number int) (Place, error)               // makes a database, the first with the number 0
	PostgresPID int                                                                // of the first process of their PostgreSQL
	Server      func(at Place, alone bool) []string                                // the command line of a server
	Verify      func(ctx context.Context, at Place) (findings []string, err error) // what is broken in the ledger
	Progress    func(text string)                                                  // is told what was done last; may be nil
	Log         io.Writer                                                          // of the servers
}

// ErrBroken tells that a ledger is not as it must be after the run.
var ErrBroken = errors.New("verify: the ledger is broken")

// runner is a run under way.
type runner struct {
	Config
	sites    []*site
	series   int // of ids
	clock    *clock
	results  map[Spec]*tally
	order    []Spec
	commit   tally
	snapshot *OldSnapshot
}

// Run measures everything that the options say. With ErrBroken the report is complete.
func Run(ctx context.Context, c Config) (report *Report, err error) {
	start := time.Now()
	groups := c.plan()
	r := &runner{Config: c, results: map[Spec]*tally{}, clock: newClock(start, &c.Options, groups)}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	if err := r.open(ctx, flat(groups)); err != nil {
		return nil, err
	}
	machine, err := r.sites[0].db.machine(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.measure(ctx, groups); err != nil {
		return nil, err
	}
	ledger, err := r.verify(ctx)
	if err != nil {
		return nil, err
	}
	report = r.report(machine, ledger)
	report.Seconds = time.Since(start).Seconds()
	if !ledger.Good {
		return report, ErrBroken
	}
	return report, nil
}

// measure goes through the groups, the open loop whose rate they tell, and the old snapshot.
func (r *runner) measure(ctx context.Context, groups []group) error {
	for _, g := range groups {
		if err := r.takeTurns(ctx, r.everywhere(g)); err != nil {
			return err
		}
	}
	var due group
	for _, site := range r.sites {
		if s, wanted := r.due(site.existing, r.reached); wanted {
			due = append(due, s)
		}
	}
	if err := r.takeTurns(ctx, due); err != nil {
		return err
	}
	return r.holdSnapshot(ctx)
}

// everywhere has the points of a group on every site.
func (r *runner) everywhere(g group) group {
	var all group
	for _, s := range g {
		for _, site := range r.sites {
			s.Existing = site.existing
			all = append(all, s)
		}
	}
	return all
}

// reached is the throughput of a point that was measured.
func (r *runner) reached(s Spec) float64 {
	if t := r.results[s]; t != nil {
		return t.perSecond()
	}
	return 0
}

// takeTurns measures the points of a group in short slices, one after the other, again and again.
func (r *runner) takeTurns(ctx context.Context, g group) error {
	for range rounds {
		for _, s := range g {
			if s.Mode == Lane && s.Callers == 1 {
				if err := r.sites[0].db.commits(ctx, &r.commit); err != nil {
					return err
				}
			}
			warmUp, window := r.clock.next()
			tallies, err := r.slice(ctx, s, warmUp, window)
			if err != nil {
				return err
			}
			r.keep(s, tallies[0])
		}
	}
	return nil
}

// keep adds a slice to what was measured before at its point.
func (r *runner) keep(s Spec, t tally) {
	if r.results[s] == nil {
		r.results[s] = &tally{}
		r.order = append(r.order, s)
	}
	r.results[s].add(t)
	r.say("%d of %d: %s: %.0f calls/s", r.clock.done, r.clock.slices, s.Title(), t.perSecond())
}

func (r *runner) say(format string, args ...any) {
	if r.Progress != nil {
		r.Progress(fmt.Sprintf(format, args...))
	}
}

// report is what was measured.
func (r *runner) report(m Machine, l Ledger) *Report {
	report := &Report{Machine: m, Ledger: l, OldSnapshot: r.snapshot}
	for _, s := range r.order {
		report.Points = append(report.Points, r.results[s].point(s))
	}
	if r.commit.times != nil {
		report.Commit = Commit{r.commit.calls, r.commit.quantile(50), r.commit.quantile(99)}
	}
	report.Ratios = ratios(report.Points, report.Commit)
	report.Growth = growth(report.Points)
	return report
}

// site is where a point is measured.
func (r *runner) site(s Spec) *site {
	for _, site := range r.sites {
		if site.existing == s.Existing {
			return site
		}
	}
	return r.sites[0] // cannot be: the plan is made of the sites
}

func (r *runner) nextIDs() ids {
	r.series++
	return ids{r.series, r.IDs == "random"}
}

func flat(groups []group) []Spec {
	var all []Spec
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}
