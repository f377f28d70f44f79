package reserve

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

const (
	sweepTenantsMax = 100 // of one look
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

// sweepOnce goes through the tenants that have overdue work. One that fails does not keep the others from theirs.
func (s *Server) sweepOnce(ctx context.Context, log *slog.Logger) error {
	tenants, err := s.reader.OverdueTenants(ctx, sweepTenantsMax)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		if err := s.sweepTenant(ctx, t, log); err != nil {
			log.Error("the sweep of a tenant failed; it will come again", "tenant", t, "error", err)
		}
	}
	return ctx.Err()
}

// sweepTenant goes through a tenant's overdue reservations by pages. The page moves on past one that cannot be expired, so it does not
// hide the others.
func (s *Server) sweepTenant(ctx context.Context, tenant ledger.TenantID, log *slog.Logger) error {
	var after ledgerdb.Due
	for ctx.Err() == nil {
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
	return ctx.Err()
}

// expireAll has a page of reservations judged; together they fill a batch.
func (s *Server) expireAll(ctx context.Context, tenant ledger.TenantID, page []ledgerdb.Due, log *slog.Logger) {
	var calls errgroup.Group
	for _, due := range page {
		calls.Go(func() error {
			_, err := lane.Do(ctx, s.lanes, tenant, keysOf(due.Reservation), func(b *ledger.Book) (ledger.Expiry, error) {
				return b.Expire(due.Reservation)
			})
			if err != nil && ctx.Err() == nil {
				log.Warn("a reservation was not expired; the sweep will come again", "tenant", tenant, "reservation", due.Reservation, "error", err)
			}
			return nil
		})
	}
	_ = calls.Wait() // each has logged its own error
}
