// Package retention moves reservations that are over, and have been for long, out of the ledger's way: into its archive. Nothing is forgotten
// there. Calls, lists, reports and verify find an archived reservation as before.
package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres"
)

const (
	// ChunkSize is how many reservations one transaction looks at, unless somebody says otherwise: so few that nobody waits for it.
	ChunkSize = 500
	// ChunkMax is how many it may look at.
	ChunkMax = 5000

	turnChunksMax = 20              // of a tenant before the next one has its turn
	chunkTime     = 5 * time.Second // far above the time limits of its statement: only a COMMIT that hangs gets there
	walkAge       = time.Hour       // after which a walk begins again, for what was not over, or locked, when it was passed
)

// Config says what is archived, and how often somebody looks.
type Config struct {
	After time.Duration // since the reservation was settled
	Every time.Duration
	Log   *slog.Logger
}

// Archiver archives for a server. Each tenant's reservations are walked through in the order of their creation; where the walk has come to is
// kept in memory, so that it does not begin with the same old reservations at every look. Replicas that archive at once leave each other's
// rows alone.
type Archiver struct {
	store  *ledgerdb.Store
	reader *ledgerdb.Reader
	config Config
	walks  map[ledger.TenantID]*walk
}

// New makes an archiver.
func New(store *ledgerdb.Store, reader *ledgerdb.Reader, config Config) *Archiver {
	return &Archiver{store: store, reader: reader, config: config, walks: map[ledger.TenantID]*walk{}}
}

// Run archives until ctx ends.
func (a *Archiver) Run(ctx context.Context) {
	ticker := time.NewTicker(a.config.Every)
	defer ticker.Stop()
	for {
		if err := a.look(ctx); err != nil && ctx.Err() == nil {
			a.config.Log.Error("archiving failed; it will be tried again", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// look archives everything that is old enough now. Tenants take turns, so one with much to archive keeps no other waiting.
func (a *Archiver) look(ctx context.Context) error {
	left, err := a.reader.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, t := range left {
		if w := a.walks[t]; w == nil || time.Since(w.began) > walkAge {
			a.walks[t] = &walk{store: a.store, tenant: t, olderThan: a.config.After, chunk: ChunkSize, limit: chunkTime, began: time.Now()}
		}
		a.walks[t].failures = 0
		if err := a.again(ctx, a.walks[t]); err != nil {
			return err
		}
	}
	for len(left) > 0 {
		var more []ledger.TenantID
		for _, t := range left {
			again, err := a.turn(ctx, a.walks[t])
			switch class := postgres.Classify(err); {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && (class == postgres.Unavailable || class == postgres.CallerLeft):
				return err // and so would those of the others
			case err != nil:
				a.config.Log.Error("archiving for a tenant failed; it will be tried again", "tenant", t, "error", err)
			}
			if again {
				more = append(more, t)
			}
		}
		left = more
	}
	return nil
}

// again tries what the walk has passed once more.
func (a *Archiver) again(ctx context.Context, w *walk) error {
	moved, err := w.again(ctx)
	a.tell(w, moved)
	if n := len(w.passed); n > 0 && err == nil {
		a.config.Log.Warn("some reservations still cannot be archived; they will be tried again", "tenant", w.tenant, "reservations", n)
	}
	return err
}

// turn archives some of a tenant's reservations, and tells whether there may be more. After each chunk it rests for as long as the chunk took:
// whoever calls meanwhile comes first. What cannot be archived is named and passed.
func (a *Archiver) turn(ctx context.Context, w *walk) (more bool, err error) {
	moved := 0
	defer func() { a.tell(w, moved) }()
	for range turnChunksMax {
		began := time.Now()
		chunk, more, err := w.step(ctx)
		moved += chunk.Moved
		failure, one := errors.AsType[*Failure](err)
		if err != nil && !one {
			return false, err
		}
		if one {
			a.config.Log.Error("a reservation cannot be archived; it will be tried again",
				"tenant", failure.Tenant, "reservation", failure.Reservation, "error", failure.Err)
		}
		if w.failures == failuresMax {
			return false, fmt.Errorf("%d reservations cannot be archived", w.failures)
		}
		if !more {
			return false, nil
		}
		rest(ctx, time.Since(began))
	}
	return true, nil
}

func (a *Archiver) tell(w *walk, moved int) {
	if moved > 0 {
		a.config.Log.Info("archived", "tenant", w.tenant, "reservations", moved)
	}
}

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
