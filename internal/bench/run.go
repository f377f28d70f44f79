package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Config says where a run finds everything. Nobody else uses the database.
type Config struct {
	Options
	Owner       string                      // connection string of the migrated database, for the role that owns it
	PostgresPID int                         // of PostgreSQL's first process
	Server      func(alone bool) []string   // the command line of a server on the database
	Progress    Progress                    // may be nil
	Log         io.Writer                   // of the servers
	Verify      func(context.Context) error // fails on a broken ledger, with a *BrokenError
}

// Progress is told of each slice: how many there are, how many are over, and what the last one came to.
type Progress func(done, of int, s Spec, callsPerSecond float64)

// BrokenError tells that the ledger is not as it must be after the run.
type BrokenError struct{ Findings []string }

// Error counts.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("verify: %d rows of the ledger are broken", len(e.Findings))
}

// runner is a run under way.
type runner struct {
	Config
	db            *database
	shared, alone *child
	series        int // of ids
	clock         *clock
	results       map[Spec]*tally
	order         []Spec
	commit        tally
	snapshot      *OldSnapshot
}

// Run measures everything that the options say. On a broken ledger it returns the report and a *BrokenError.
func Run(ctx context.Context, c Config) (report *Report, err error) {
	start := time.Now()
	db, err := openDatabase(ctx, c.Owner, c.PostgresPID)
	if err != nil {
		return nil, err
	}
	defer db.close(ctx)
	r := &runner{Config: c, db: db, results: map[Spec]*tally{}}
	report = &Report{}
	if report.Machine, err = db.machine(ctx); err != nil {
		return nil, err
	}
	groups := c.plan()
	r.clock = newClock(start, &c.Options, groups)
	if err := db.prepare(ctx, flat(groups)); err != nil {
		return nil, err
	}
	if err := r.serve(ctx, groups); err != nil {
		return nil, err
	}
	broken := c.Verify(ctx)
	if report.Ledger, err = judged(broken); err != nil {
		return nil, err
	}
	r.fill(report)
	report.Seconds = time.Since(start).Seconds()
	return report, broken
}

// judged is the verdict of verify; the error tells that there is none.
func judged(err error) (Ledger, error) {
	broken, found := errors.AsType[*BrokenError](err)
	if err != nil && !found {
		return Ledger{}, err
	}
	if found {
		return Ledger{Findings: broken.Findings}, nil
	}
	return Ledger{Good: true}, nil
}

// serve measures while the servers run, and ends them.
func (r *runner) serve(ctx context.Context, groups []group) (err error) {
	for _, way := range []struct {
		to    **child
		alone bool
	}{{&r.shared, false}, {&r.alone, true}} {
		if way.alone && !names(r.Mode, Single) {
			continue
		}
		c, err := startChild(r.Server(way.alone), r.Log)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.stop()) }()
		if err := c.awaitServing(ctx); err != nil {
			return err
		}
		*way.to = c
	}
	for _, n := range either64(r.Existing) {
		start := time.Now()
		if err := r.db.grow(ctx, n, r.base().accountsOfTenant(), r.nextIDs()); err != nil {
			return err
		}
		r.clock.leaveOut(time.Since(start))
		if err := r.points(ctx, groups, n); err != nil {
			return err
		}
	}
	return r.holdSnapshot(ctx)
}

func either64(existing []int64) []int64 {
	if len(existing) == 0 {
		return []int64{0}
	}
	return existing
}

// points measures all groups and the open loop on a database of one size.
func (r *runner) points(ctx context.Context, groups []group, existing int64) error {
	for _, g := range groups {
		if err := r.takeTurns(ctx, g, existing); err != nil {
			return err
		}
	}
	s, wanted := r.open(func(s Spec) float64 {
		if t := r.results[withExisting(s, existing)]; t != nil {
			return t.perSecond()
		}
		return 0
	})
	if !wanted {
		return nil
	}
	return r.takeTurns(ctx, group{s}, existing)
}

// takeTurns measures the points of a group in short slices, one after the other, again and again.
func (r *runner) takeTurns(ctx context.Context, g group, existing int64) error {
	for range rounds {
		for _, s := range g {
			s = withExisting(s, existing)
			lone := s.Mode == Lane && s.Callers == 1
			if lone {
				if err := r.db.commits(ctx, &r.commit); err != nil {
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

func withExisting(s Spec, n int64) Spec {
	s.Existing = n
	return s
}

// keep adds a slice to what was measured before at its point.
func (r *runner) keep(s Spec, t tally) {
	if r.results[s] == nil {
		r.results[s] = &tally{}
		r.order = append(r.order, s)
	}
	r.results[s].add(t)
	if r.Progress != nil {
		r.Progress(r.clock.done, r.clock.slices, s, t.perSecond())
	}
}

// fill puts what was measured into the report.
func (r *runner) fill(report *Report) {
	for _, s := range r.order {
		report.Points = append(report.Points, r.results[s].point(s))
	}
	if r.commit.times != nil {
		report.Commit = Commit{r.commit.calls, r.commit.quantile(50), r.commit.quantile(99)}
	}
	report.Ratios = ratios(report.Points, report.Commit)
	report.Growth = growth(report.Points)
	report.OldSnapshot = r.snapshot
}

func (r *runner) server(m Mode) *child {
	if m == Single {
		return r.alone
	}
	return r.shared
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
