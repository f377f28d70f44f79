package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// BenchmarkDrain cancels 10,000 reservations of one job, in chunks of each size.
func BenchmarkDrain(b *testing.B) {
	yard := newYard(b)
	for _, size := range []int32{10, 100, 1000} {
		b.Run(fmt.Sprintf("chunk=%d", size), func(b *testing.B) {
			const targets = 10_000
			var took time.Duration
			chunks := 0
			for range b.N {
				b.StopTimer()
				job := yard.job(b, targets, size)
				b.StartTimer()
				start := time.Now()
				chunks += yard.drain(b, job)
				took += time.Since(start)
			}
			b.ReportMetric(float64(b.N*targets)/took.Seconds(), "rows/s")
			b.ReportMetric(float64(chunks)/took.Seconds(), "chunks/s")
		})
	}
}

// BenchmarkRunChunk runs chunks of ten in jobs of each size: what they cost beyond the ten rows is the check of everything that is stored of
// the job, which grows with it.
func BenchmarkRunChunk(b *testing.B) {
	yard := newYard(b)
	for _, targets := range []int{64, 1000, 10_000} {
		b.Run(fmt.Sprintf("targets=%d", targets), func(b *testing.B) {
			job, left := "", 0
			for range b.N {
				if left == 0 {
					b.StopTimer()
					job, left = yard.job(b, targets, 10), (targets+9)/10
					b.StartTimer()
				}
				if _, err := yard.jobs.RunChunk(b.Context(), &settlementv1.RunChunkRequest{TenantId: apptest.Tenant, JobId: job}); err != nil {
					b.Fatal(err)
				}
				left--
			}
		})
	}
}

// yard makes jobs of pending reservations.
type yard struct {
	reservations settlementv1.ReservationServiceClient
	jobs         settlementv1.ReconciliationJobServiceClient
	made         atomic.Int64
}

func newYard(b *testing.B) *yard {
	conn := serveWith(b, durableServer(b), func(c *app.Config) { c.JobTargetsMax, c.JobChunkMax = 10_000, 1000 })
	return &yard{reservations: settlementv1.NewReservationServiceClient(conn), jobs: settlementv1.NewReconciliationJobServiceClient(conn)}
}

// job reserves so many, and registers and approves a job that cancels them.
func (y *yard) job(b *testing.B, targets int, chunk int32) string {
	job := fmt.Sprintf("j%d", y.made.Add(1))
	m := &settlementv1.Manifest{JobId: job, Action: settlementv1.JobAction_JOB_ACTION_CANCEL, ChunkSize: chunk, AllowPartial: true}
	for i := range targets {
		m.Targets = append(m.Targets, &settlementv1.Target{
			ReservationId: fmt.Sprintf("%s-%05d", job, i), Revision: new(int32(0)), TakenUnit: settlementv1.Unit_UNIT_CREDITS, Taken: new(int64(1)),
		})
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(targets); i = next.Add(1) - 1 {
				if err := y.reserve(b.Context(), m.Targets[i].GetReservationId(), fmt.Sprintf("a%d", i%1000)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	resp, err := y.jobs.RegisterJob(b.Context(), &settlementv1.RegisterJobRequest{TenantId: apptest.Tenant, Manifest: m, RegisteredBy: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	approval := &settlementv1.ApproveJobRequest{TenantId: apptest.Tenant, JobId: job, ManifestHash: resp.GetJob().GetManifestHash(), ApprovedBy: "bench"}
	if _, err := y.jobs.ApproveJob(b.Context(), approval); err != nil {
		b.Fatal(err)
	}
	return job
}

func (y *yard) reserve(ctx context.Context, id, account string) error {
	resp, err := y.reservations.Reserve(ctx, &settlementv1.ReserveRequest{
		TenantId: apptest.Tenant, ReservationId: id, AccountId: account, ProviderId: "hot",
		Funding: &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: 1}}, BudgetMicros: 10, Currency: "USD", TtlSeconds: new(int64(86400)),
	})
	if err == nil && resp.GetGranted() == nil {
		err = fmt.Errorf("reserve %s: %v", id, resp)
	}
	return err
}

// drain runs a job to its end, and tells how many chunks it took.
func (y *yard) drain(b *testing.B, job string) (chunks int) {
	for done := false; !done; {
		stream, err := y.jobs.DrainJob(b.Context(), &settlementv1.DrainJobRequest{TenantId: apptest.Tenant, JobId: job, MaxChunks: 64}, grpc.MaxCallRecvMsgSize(16<<20))
		var m *settlementv1.DrainJobResponse
		for err == nil && m.GetSummary() == nil {
			m, err = stream.Recv()
		}
		if err != nil {
			b.Fatal(err)
		}
		chunks += int(m.GetSummary().GetCalls())
		done = m.GetSummary().GetDone()
	}
	return chunks
}
