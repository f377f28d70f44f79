package demo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// Tenant is the tenant that the scenarios play in.
const Tenant = "demo"

const (
	together = 8                // scenarios at a time: most of them wait for a permit to end
	patience = 30 * time.Second // for one scenario
)

// Config says where the scenarios play.
type Config struct {
	Service  string               // the address of the service
	Database *pgxpool.Pool        // its database, to read the holds behind its back
	Provider *fakeprovider.Server // the provider and checker
	Program  []string             // a command that calls RunWorker with the flags of WorkerOptions
	Drainer  []string             // a command that calls RunDrainer with the flags of DrainerOptions
	Progress io.Writer            // a line for every scenario that has ended
	// PlantFailure names a scenario whose account is moved behind the ledger's back while it is read, or is PlantInLedger. Only for tests
	// of the demo itself.
	PlantFailure string
}

// PlantInLedger has a balance moved after all scenarios, so that only the invariants can tell.
const PlantInLedger = "ledger"

// Result is what became of a scenario.
type Result struct {
	Name  string // short and unique
	Title string
	Holds Holds
	Fleet int   // jobs that ended as the holds show; 0 where there is but one
	Posts int64 // generations that the provider accepted and billed
	Took  time.Duration
	Err   error // why it failed
}

// Play plays every scenario and returns the results in their fixed order. An error tells that they could not be played.
func Play(ctx context.Context, c Config) ([]Result, error) {
	s, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.close()
	all := scenarios()
	results := make([]Result, len(all))
	lines := make(chan Result, len(all))
	var playing errgroup.Group
	playing.SetLimit(together)
	go func() {
		defer close(lines)
		for i, sc := range all {
			playing.Go(func() error {
				results[i] = s.play(ctx, sc)
				lines <- results[i]
				return nil
			})
		}
		_ = playing.Wait() // each result has its own error
	}()
	for r := range lines {
		if ctx.Err() == nil {
			fmt.Fprintf(c.Progress, "  %s %s (%.1f s)\n", mark(r.Err == nil), r.Title, r.Took.Seconds())
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if c.PlantFailure == PlantInLedger {
		return results, s.moveCredits(ctx, all[0].name, 1)
	}
	return results, nil
}

// CanPlant tells whether a failure can be planted under a name.
func CanPlant(name string) bool {
	return name == "" || name == PlantInLedger || slices.ContainsFunc(scenarios(), func(sc scenario) bool { return sc.name == name })
}

// play plays one scenario from its set-up to the comparison of its holds.
func (s *stage) play(ctx context.Context, sc scenario) Result {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	j := s.newJob(sc)
	defer j.close()
	err := j.run(ctx)
	r := Result{Name: sc.name, Title: sc.title, Fleet: sc.want.fleet, Took: time.Since(began)}
	if s.config.PlantFailure == sc.name && err == nil {
		err = s.moveCredits(ctx, sc.name, 1)
	}
	if err == nil {
		r.Holds, r.Posts, err = j.compare(ctx, sc.want)
	}
	if s.config.PlantFailure == sc.name {
		_ = s.moveCredits(ctx, sc.name, -1) // so that only this comparison fails
	}
	r.Err = err
	return r
}

// moveCredits moves a balance behind the ledger's back.
func (s *stage) moveCredits(ctx context.Context, account string, by int64) error {
	_, err := s.config.Database.Exec(ctx,
		"UPDATE accounts SET credits_available = credits_available + $3 WHERE tenant_id = $1 AND account_id = $2", Tenant, account, by)
	if err != nil {
		return fmt.Errorf("plant a failure: %w", err)
	}
	return nil
}
