package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// work is what callers do at a point. Its methods are for all callers at once.
type work struct {
	spec   Spec
	ids    ids
	conns  []*grpc.ClientConn
	meter  *meter
	number atomic.Int64 // of the last job, or batch of them
}

// round does what a caller does between two looks at whether it should stop: a call, or the calls of a job.
func (w *work) round(ctx context.Context, caller int) error {
	switch w.spec.Mode {
	case Noop:
		return w.check(ctx, caller)
	case Batch:
		return w.batch(ctx, caller)
	default:
		j := w.next()
		if err := w.reserve(ctx, caller, j, time.Now()); err != nil {
			return err
		}
		return w.settle(ctx, caller, j, time.Now())
	}
}

func (w *work) conn(caller int) *grpc.ClientConn { return w.conns[caller%len(w.conns)] }

// next is a job that nobody had before.
func (w *work) next() job { return w.ids.job(w.spec, w.number.Add(1)-1) }

// check is a call that does nothing.
func (w *work) check(ctx context.Context, caller int) error {
	start := time.Now()
	resp, err := healthpb.NewHealthClient(w.conn(caller)).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		return fmt.Errorf("health check: %w", err)
	}
	if resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("health check: answered %v", resp)
	}
	w.meter.record(caller, 1, time.Since(start))
	return nil
}

// reserve makes the first call of a job, timed from when it was due.
func (w *work) reserve(ctx context.Context, caller int, j job, due time.Time) error {
	resp, err := settlementv1.NewReservationServiceClient(w.conn(caller)).Reserve(ctx, j.reserve())
	if err != nil {
		return fmt.Errorf("reserve %s: %w", j.id, err)
	}
	if err := j.reserved(resp); err != nil {
		return err
	}
	w.meter.record(caller, 1, time.Since(due))
	return nil
}

// settle makes the second call of a job, timed from when it was due.
func (w *work) settle(ctx context.Context, caller int, j job, due time.Time) error {
	resp, err := settlementv1.NewSettlementServiceClient(w.conn(caller)).Settle(ctx, j.settle())
	if err != nil {
		return fmt.Errorf("settle %s: %w", j.id, err)
	}
	if err := j.settled(resp); err != nil {
		return err
	}
	w.meter.record(caller, 1, time.Since(due))
	return nil
}
