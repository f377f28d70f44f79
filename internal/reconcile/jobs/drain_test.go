package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/reconcile/jobs"
	"github.com/settlementd/settlementd/internal/reconcile/jobs/jobdb"
)

// A drain runs as many chunks as it may, or to the end; it answers each chunk, and at last what they come to. The call that finds nothing to
// do counts, too.
func TestDrainStopsAtItsBoundOrAtTheEnd(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 5)
	f.approved(t, f.manifest(t, "j1", 2))
	for _, c := range []struct {
		maxChunks, calls int32
		processed        []string
		next             int32
		done             bool
	}{
		{1, 1, f.ids[:2], 2, false},
		{64, 2, f.ids[2:], 5, true},
		{3, 1, nil, 5, true},
	} {
		chunks, sum, err := drain(t.Context(), f.Service, "j1", c.maxChunks)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, chunk := range chunks {
			told = append(told, idsOf(chunk.GetProcessed())...)
		}
		last := chunks[len(chunks)-1]
		if len(chunks) != int(c.calls) || !slices.Equal(told, c.processed) || last.GetNextIndex() != c.next || last.GetDone() != c.done {
			t.Errorf("%+v: the chunks are %v", c, chunks)
		}
		if sum.GetCalls() != c.calls || !slices.Equal(idsOf(sum.GetProcessed()), c.processed) || sum.GetNextIndex() != c.next || sum.GetDone() != c.done {
			t.Errorf("%+v: the summary is %v", c, sum)
		}
	}
	f.wantPrefix(t, "j1", 5)
	f.Verify(t)
}

// The bound and the ids are checked before anything else: the job that goes with them is not even looked for.
func TestDrainChecksItsBoundFirst(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	for _, n := range []int32{0, -1, 65, 1 << 30} {
		_, _, err := drain(t.Context(), f.Service, "j1", n)
		invalid(t, err, "max_chunks")
	}
	_, _, err := drain(t.Context(), f.Service, "j 1", 1)
	invalid(t, err, "job_id")
	_, _, err = drain(t.Context(), f.Service, "j1", 64)
	failure(t, err, codes.NotFound, "NOT_FOUND")
}

// An error ends a drain at once, without a summary and without a second try. What was answered before stands.
func TestDrainPassesErrorsOn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	hooks := 0
	boom := status.Error(codes.DataLoss, "boom")
	f := newFleet(t, 8, func(c *app.Config) {
		c.Fault = func(string) error {
			mu.Lock()
			defer mu.Unlock()
			if hooks++; hooks == 4+4+2 { // in the third chunk
				return boom
			}
			return nil
		}
	})
	f.approved(t, f.manifest(t, "j1", 2))
	chunks, sum, err := drain(t.Context(), f.Service, "j1", 64)
	if status.Code(err) != codes.DataLoss || sum != nil || len(chunks) != 2 || hooks != 10 {
		t.Errorf("%v, %v, %v after %d hooks", chunks, sum, err, hooks)
	}
	f.wantPrefix(t, "j1", 4)
	f.Extend(t, f.ids[6], 3600)
	chunks, sum, err = drain(t.Context(), f.Service, "j1", 64)
	conflict(t, err, "j1", f.ids[6], "REVISION")
	if sum != nil || len(chunks) != 1 {
		t.Errorf("%v, %v", chunks, sum)
	}
	f.wantPrefix(t, "j1", 6)
	f.Verify(t)
}

// stream takes the messages of a drain as a client would.
type stream struct {
	grpc.ServerStreamingServer[settlementv1.DrainJobResponse]
	ctx  context.Context
	send func(*settlementv1.DrainJobResponse) error
}

// Context is that of the call.
func (s stream) Context() context.Context { return s.ctx }

// Send takes a message.
func (s stream) Send(m *settlementv1.DrainJobResponse) error { return s.send(m) }

// While a drain answers, no transaction is open and its only connection is free; a client that is gone ends it after the chunk.
func TestDrainAnswersOutsideOfTransactions(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 6)
	f.approved(t, f.manifest(t, "j1", 2))
	w := newWorker(t, f.DB.ServiceDSN(), nil)
	answered := 0
	err := w.DrainJob(&settlementv1.DrainJobRequest{TenantId: apptest.Tenant, JobId: "j1", MaxChunks: 64}, stream{
		ctx: t.Context(), send: func(*settlementv1.DrainJobResponse) error {
			w.session(t)
			if answered++; answered == 2 {
				return io.ErrClosedPipe
			}
			return nil
		},
	})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	f.wantPrefix(t, "j1", 4)
}

// A server that is told to stop ends its drains between two chunks.
func TestDrainStopsBetweenChunks(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 6)
	f.approved(t, f.manifest(t, "j1", 2))
	stopping := make(chan struct{})
	config := jobs.Config{Stopping: stopping, Log: slog.New(slog.DiscardHandler), Fault: func(point string) error {
		if point == jobs.AfterOrders {
			close(stopping) // in the middle of the first chunk
		}
		return nil
	}}
	s := jobs.New(jobdb.New(f.DB.Ledger(), f.DB.Read()), ledgerdb.NewReader(f.DB.Read()), config)
	answered := 0
	err := s.DrainJob(&settlementv1.DrainJobRequest{TenantId: apptest.Tenant, JobId: "j1", MaxChunks: 64}, stream{
		ctx: t.Context(), send: func(*settlementv1.DrainJobResponse) error { answered++; return nil },
	})
	if !errors.Is(err, lane.ErrClosed) || answered != 1 {
		t.Errorf("%v after %d answers", err, answered)
	}
	f.wantPrefix(t, "j1", 2)
}

// The process is told to end while it drains. It ends well, and what it had answered is exactly what stands.
func TestDrainEndsAtACheckpointOnSIGTERM(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 64)
	f.approved(t, f.manifest(t, "j1", 1))
	p := start(t, f.DB, "")
	stream, err := p.Jobs.DrainJob(t.Context(), &settlementv1.DrainJobRequest{TenantId: apptest.Tenant, JobId: "j1", MaxChunks: 64})
	answered := 0
	for err == nil {
		var m *settlementv1.DrainJobResponse
		if m, err = stream.Recv(); m.GetChunk() != nil {
			if answered++; answered == 1 {
				if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the server ended with %d: %s", code, p.stderr.String())
	}
	if answered < 64 {
		failure(t, err, codes.Unavailable, "SHUTTING_DOWN")
	}
	f.wantPrefix(t, "j1", answered)
	f.Verify(t)
}

// Two processes drain one job to its end. Each reservation is changed exactly once, and what the two say that they changed is together what
// the audit has, which is the manifest.
func TestDrainByTwoProcesses(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 64)
	f.approved(t, f.manifest(t, "j1", 1))
	told := make([][]string, 2)
	var wg sync.WaitGroup
	for i := range told {
		p := start(t, f.DB, "")
		wg.Go(func() {
			for done := false; !done; {
				chunks, sum, err := drain(t.Context(), p.Service, "j1", 3)
				// Who waits too long behind the other is told so, and comes again.
				if err != nil && status.Code(err) != codes.Unavailable {
					t.Error(err)
					return
				}
				for _, c := range chunks {
					told[i] = append(told[i], idsOf(c.GetProcessed())...)
				}
				done = sum.GetDone()
			}
		})
	}
	wg.Wait()
	if len(told[0]) == 0 || len(told[1]) == 0 {
		t.Logf("one of them did it all: %d and %d", len(told[0]), len(told[1]))
	}
	union := slices.Sorted(slices.Values(slices.Concat(told...)))
	if !slices.Equal(union, f.ids) {
		t.Errorf("the two changed %q", union)
	}
	var audit []string
	for _, row := range auditRows(f.DB, "j1") {
		var ordinal int
		var id string
		if _, err := fmt.Sscan(row, &ordinal, &id); err != nil {
			t.Fatal(err)
		}
		audit = append(audit, id)
	}
	if !slices.Equal(union, audit) {
		t.Errorf("the audit has %q", audit)
	}
	f.wantPrefix(t, "j1", 64)
	f.changedOnce(t)
}

// Two drains through one server with one connection share the job as well.
func TestDrainWithOneConnection(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 30, func(c *app.Config) { c.PoolSize, c.ReadPoolSize = 1, 1 })
	f.approved(t, f.manifest(t, "j1", 2))
	var mu sync.Mutex
	var told []string
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_, sum, err := drain(t.Context(), f.Service, "j1", 64)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			told = append(told, idsOf(sum.GetProcessed())...)
		})
	}
	wg.Wait()
	if slices.Sort(told); !slices.Equal(told, f.ids) {
		t.Errorf("they changed %q", told)
	}
	f.changedOnce(t)
}
