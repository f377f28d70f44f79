package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Place is a migrated database that nobody else uses.
type Place struct {
	Owner   string // connection string for the role that owns it
	Service string // for the role that the service runs as
}

// site is a database of one size with the servers on it.
type site struct {
	place         Place
	existing      int64
	db            *database
	shared, alone *child
}

// open makes a site for each size of the database, side by side, so that they can take turns as modes do. The caller closes them.
func (r *runner) open(ctx context.Context, specs []Spec) error {
	for i, n := range r.sizes() {
		place, err := r.Database(ctx, i)
		if err != nil {
			return err
		}
		s := &site{place: place, existing: n}
		if s.db, err = openDatabase(ctx, place.Owner, r.PostgresPID); err != nil {
			return err
		}
		r.sites = append(r.sites, s)
		if err := s.db.prepare(ctx, specs); err != nil {
			return err
		}
		if err := r.fill(ctx, s); err != nil {
			return err
		}
	}
	for _, s := range r.sites {
		if err := s.db.settle(ctx); err != nil {
			return err
		}
		if err := s.serve(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// fill makes the reservations that are to be there before the first call. A bound of the run does not count that time.
func (r *runner) fill(ctx context.Context, s *site) error {
	if s.existing == 0 {
		return nil
	}
	start := time.Now()
	r.say("making %s", counted(s.existing, "reservation"))
	if err := s.db.grow(ctx, s.existing, r.base().accountsOfTenant(), r.nextIDs()); err != nil {
		return err
	}
	r.clock.leaveOut(time.Since(start))
	return nil
}

// sizes are how many reservations the databases have.
func (o *Options) sizes() []int64 {
	if len(o.Existing) > 0 {
		return o.Existing
	}
	return []int64{0}
}

// serve starts the servers.
func (s *site) serve(ctx context.Context, r *runner) error {
	for _, way := range []struct {
		to     **child
		alone  bool
		wanted bool
	}{{&s.shared, false, true}, {&s.alone, true, names(r.Mode, Single)}} {
		if !way.wanted {
			continue
		}
		c, err := startChild(r.Server(s.place, way.alone), r.Log)
		if err != nil {
			return err
		}
		*way.to = c
		if err := c.awaitServing(ctx); err != nil {
			return err
		}
	}
	return nil
}

// server is the server of a mode.
func (s *site) server(m Mode) *child {
	if m == Single {
		return s.alone
	}
	return s.shared
}

// stop ends the servers.
func (s *site) stop() (err error) {
	for _, c := range []**child{&s.shared, &s.alone} {
		if *c != nil {
			err = errors.Join(err, (*c).stop())
			*c = nil
		}
	}
	return err
}

// close ends everything.
func (r *runner) close(ctx context.Context) (err error) {
	for _, s := range r.sites {
		err = errors.Join(err, s.stop())
		s.db.close(ctx)
	}
	return err
}

// verify stops the servers and asks whether the ledgers are as they must be.
func (r *runner) verify(ctx context.Context) (Ledger, error) {
	l := Ledger{}
	for _, s := range r.sites {
		if err := s.stop(); err != nil {
			return l, err
		}
		r.say("verifying the ledger")
		findings, err := r.Verify(ctx, s.place)
		if err != nil {
			return l, fmt.Errorf("verify: %w", err)
		}
		l.Findings = append(l.Findings, findings...)
	}
	l.Good = len(l.Findings) == 0
	return l, nil
}
