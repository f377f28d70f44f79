package bench

import (
	"context"
	"fmt"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// batch reserves and settles many jobs, which are of one tenant, in two RPCs.
func (w *work) batch(ctx context.Context, caller int) error {
	jobs := w.nextOfOneTenant(w.spec.ItemsPerRPC)
	reserve := &settlementv1.BatchReserveRequest{TenantId: jobs[0].tenant}
	settle := &settlementv1.BatchSettleRequest{TenantId: jobs[0].tenant}
	for _, j := range jobs {
		reserve.Requests = append(reserve.Requests, j.reserve())
		settle.Requests = append(settle.Requests, j.settle())
	}
	start := time.Now()
	reserved, err := settlementv1.NewReservationServiceClient(w.conn(caller)).BatchReserve(ctx, reserve)
	if err != nil {
		return fmt.Errorf("batch of reserves: %w", err)
	}
	if err := all(jobs, reserved.GetResults(), job.reserved); err != nil {
		return err
	}
	w.meter.record(caller, len(jobs), time.Since(start))

	start = time.Now()
	settled, err := settlementv1.NewSettlementServiceClient(w.conn(caller)).BatchSettle(ctx, settle)
	if err != nil {
		return fmt.Errorf("batch of settles: %w", err)
	}
	if err := all(jobs, settled.GetResults(), job.settled); err != nil {
		return err
	}
	w.meter.record(caller, len(jobs), time.Since(start))
	return nil
}

// nextOfOneTenant are jobs that nobody had before: the tenants take turns by batches.
func (w *work) nextOfOneTenant(n int) []job {
	jobs := make([]job, n)
	tenants := int64(w.spec.Tenants)
	batch := w.number.Add(1) - 1
	for i := range jobs {
		number := batch/tenants*int64(n) + int64(i) // within the tenant
		jobs[i] = w.ids.job(w.spec, number*tenants+batch%tenants)
	}
	return jobs
}

// all looks at the answers of a batch, which stand in the order of its items.
func all[A any, R interface{ GetResponse() A }](jobs []job, results []R, wrong func(job, A) error) error {
	if len(results) != len(jobs) {
		return fmt.Errorf("batch of %d: answered %d", len(jobs), len(results))
	}
	for i, j := range jobs {
		if err := wrong(j, results[i].GetResponse()); err != nil {
			return fmt.Errorf("batch: %w (%v)", err, results[i])
		}
	}
	return nil
}
