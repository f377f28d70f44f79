package reserve

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

const (
	sweepTenantsMax = 100 // of one look
	sweepsMax       = 8   // tenants that are swept at a time
	sweepPagesMax   = 25  // of one tenant in one look
	sweepPageSize   = 200
)

// Sweep looks for overdue reservations that nobody calls about, until ctx ends. Each is an ordinary call through its tenant's lane that
// judges the deadline under the lock, so replicas that sweep at once do each other no harm.
func (s *Server) Sweep(ctx context.Context, every time.Duration, log *slog.Logger) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := s.sweepOnce(ctx, log); err != nil && ctx.Err() == nil {
			log.Error("the sweep failed; it will come again", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// sweepOnce looks once for tenants that have overdue work. One whose rows are locked, or that has very much to do, keeps no other waiting.
func (s *Server) sweepOnce(ctx context.Context, log *slog.Logger) error {
	tenants, err := s.reader.OverdueTenants(ctx, sweepTenantsMax)
	if err != nil {
		return err
	}
	var sweeps errgroup.Group
	sweeps.SetLimit(sweepsMax)
	for _, t := range tenants {
		sweeps.Go(func() error {
			if err := s.sweepTenant(ctx, t, log); err != nil && ctx.Err() == nil {
				log.Error("the sweep of a tenant failed; it will come again", "tenant", t, "error", err)
			}
			return nil
		})
	}
	return sweeps.Wait()
}

// sweepTenant goes through a tenant's overdue reservations by pages. The page moves on past one that cannot be expired, so it does not
// hide the others; what is left after so many pages waits for the next look.
func (s *Server) sweepTenant(ctx context.Context, tenant ledger.TenantID, log *slog.Logger) error {
	var after ledgerdb.Due
	for range sweepPagesMax {
		page, err := s.reader.DueReservations(ctx, tenant, after, sweepPageSize)
		if err != nil {
			return err
		}
		s.expireAll(ctx, tenant, page, log)
		if len(page) < sweepPageSize {
			break
		}
		after = page[len(page)-1]
	}
	return nil
}

// expireAll has a page of reservations judged; together they fill a batch.
func (s *Server) expireAll(ctx context.Context, tenant ledger.TenantID, page []ledgerdb.Due, log *slog.Logger) {
	var calls sync.WaitGroup
	for _, due := range page {
		calls.Go(func() {
			_, err := lane.Do(ctx, s.lanes, tenant, keysOf(due.Reservation), func(b *ledger.Book) (ledger.Expiry, error) {
				return b.Expire(due.Reservation)
			})
			if err != nil && ctx.Err() == nil {
				log.Warn("a reservation was not expired; the sweep will come again", "tenant", tenant, "reservation", due.Reservation, "error", err)
			}
		})
	}
	calls.Wait()
}
