// Package app assembles the service: pools, lanes, features, server, sweep and archiver, top to bottom.
package app

import (
	"context"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/account"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/reconcile"
	"github.com/settlementd/settlementd/internal/reconcile/jobs"
	"github.com/settlementd/settlementd/internal/reconcile/jobs/jobdb"
	"github.com/settlementd/settlementd/internal/reconcile/statements"
	"github.com/settlementd/settlementd/internal/reconcile/statements/statementdb"
	"github.com/settlementd/settlementd/internal/reserve"
	"github.com/settlementd/settlementd/internal/retention"
	"github.com/settlementd/settlementd/internal/rpc"
	"github.com/settlementd/settlementd/internal/settle"
)

// Run serves calls on the listener until ctx ends, and returns when the last of them is answered.
func Run(ctx context.Context, c Config, l net.Listener) error {
	if err := c.Validate(); err != nil {
		return err
	}
	collectLess()
	pools, err := c.open(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // told to stop before it served
	case err != nil:
		return err
	}
	defer pools.close()

	store := ledgerdb.New(pools.ledger)
	lanes := lane.New(store, lane.Config{
		BatchMax: c.BatchMax, QueueMax: c.QueueMax, TurnsMax: c.PoolSize, RunnersMax: c.TenantBatches, Alone: c.Alone, Log: c.Log,
	})
	reader := ledgerdb.NewReader(pools.read)
	reservations := reserve.New(lanes, reader, reserve.Config{DefaultTTL: c.DefaultTTL, MaxAge: c.MaxAge, Log: c.Log})

	server, err := rpc.New(rpc.Config{
		CallTimeout: c.CallTimeout, SlowCall: c.SlowCall, ShutdownTimeout: c.ShutdownTimeout,
		MessageBytesMax: c.MessageBytesMax, Log: c.Log,
	}, pools.writable, func(s grpc.ServiceRegistrar) {
		settlementv1.RegisterReservationServiceServer(s, reservations)
		settlementv1.RegisterSettlementServiceServer(s, settle.New(lanes, c.Log))
		settlementv1.RegisterReconciliationServiceServer(s, reconcile.New(lanes, reader))
		settlementv1.RegisterReconciliationJobServiceServer(s, jobs.New(jobdb.New(pools.ledger, pools.read), reader, c.jobs(ctx)))
		settlementv1.RegisterStatementServiceServer(s, statements.New(lanes, reader, statementdb.New(pools.ledger, pools.read), ctx.Done()))
		settlementv1.RegisterAccountServiceServer(s, account.New(lanes, reader))
	})
	if err != nil {
		return err
	}

	var tending sync.WaitGroup
	tend, stopTending := context.WithCancel(ctx)
	tending.Go(func() { reservations.Sweep(tend, c.SweepInterval, c.Log) })
	if c.ArchiveAfter > 0 {
		archiver := retention.New(store, reader, retention.Config{After: c.ArchiveAfter, Every: c.ArchiveInterval, Log: c.Log})
		tending.Go(func() { archiver.Run(tend) })
	}
	c.Log.Info("listening", "address", l.Addr().String())
	err = server.Serve(ctx, l)
	stopTending()
	tending.Wait()
	c.close(lanes)
	return err
}

// collectLess lets the heap grow fivefold before it is collected, unless GOGC says otherwise. What a server keeps is a few megabytes, and
// what its calls leave behind comes at hundreds a second: at the default rate a third of its time went into collecting.
func collectLess() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(400)
	}
}

// jobs is the part of the configuration that is about reconciliation jobs.
func (c *Config) jobs(ctx context.Context) jobs.Config {
	return jobs.Config{
		Limits:                ledger.Limits{Targets: c.JobTargetsMax, Chunk: c.JobChunkMax},
		RequireSecondApprover: c.RequireSecondApprover, Stopping: ctx.Done(), Fault: c.Fault, Log: c.Log,
	}
}

// close lets transactions under way end.
func (c *Config) close(lanes *lane.Lanes) {
	ctx, cancel := context.WithTimeout(context.Background(), max(c.ShutdownTimeout, time.Second))
	defer cancel()
	lanes.Close(ctx)
}
