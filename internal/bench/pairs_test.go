// Package bench measures the whole path: client, gRPC, lanes, rules, PostgreSQL with fsync on.
package bench

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/embedded"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
	"github.com/settlementd/settlementd/migrations"
)

// BenchmarkPairs makes Reserve and Settle pairs on one hot budget, through shared transactions and the plain way, a transaction a call.
// The two stand in one run, so that their ratio means something on a noisy machine.
func BenchmarkPairs(b *testing.B) {
	dsn := durableServer(b)
	for _, callers := range []int{1, 64, 256} {
		for _, way := range []struct {
			name  string
			alone bool
		}{{"shared", false}, {"alone", true}} {
			b.Run(fmt.Sprintf("callers=%d/%s", callers, way.name), func(b *testing.B) {
				clients := serve(b, dsn, way.alone)
				pairs(b, clients, callers)
			})
		}
	}
}

var run atomic.Int64

func pairs(b *testing.B, conn *grpc.ClientConn, callers int) {
	reservations, settlements := settlementv1.NewReservationServiceClient(conn), settlementv1.NewSettlementServiceClient(conn)
	prefix := run.Add(1)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	start := time.Now()
	for range callers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := pair(b.Context(), reservations, settlements, fmt.Sprintf("r%d-%d", prefix, i), fmt.Sprintf("a%d", i%1000)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "pairs/s")
}

func pair(ctx context.Context, r settlementv1.ReservationServiceClient, s settlementv1.SettlementServiceClient, id, account string) error {
	reserved, err := r.Reserve(ctx, &settlementv1.ReserveRequest{
		TenantId: apptest.Tenant, ReservationId: id, AccountId: account, ProviderId: "hot",
		Funding:      &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: 1}},
		BudgetMicros: 10, Currency: "USD", Submission: &settlementv1.Submission{RequestKey: "k-" + id, PermitToken: "t-" + id},
	})
	if err != nil {
		return err
	}
	if reserved.GetGranted() == nil {
		return fmt.Errorf("reserve %s: %v", id, reserved)
	}
	settled, err := s.Settle(ctx, &settlementv1.SettleRequest{
		TenantId: apptest.Tenant, ReservationId: id, RequestKey: new("k-" + id), Observer: settlementv1.Observer_OBSERVER_POLL,
		Outcome: &settlementv1.SettleRequest_Completed{Completed: &settlementv1.CompletedOutcome{
			OutputCheck: settlementv1.OutputCheck_OUTPUT_CHECK_NOT_REQUIRED, Cost: &settlementv1.Money{AmountMicros: 7, Currency: "USD"},
		}},
	})
	if err == nil && settled.GetDisposition() != settlementv1.Disposition_DISPOSITION_APPLIED {
		err = fmt.Errorf("settle %s: %v", id, settled)
	}
	return err
}

// durableServer is a PostgreSQL that keeps its promises, with a tenant, 1,000 accounts and one provider.
func durableServer(b *testing.B) string {
	server, err := embedded.Start(b.Context(), embedded.Options{Dir: postgrestest.Dir(b), Ephemeral: true, Settings: map[string]string{
		"shared_buffers": "512MB", "max_wal_size": "4GB",
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Stop() })
	owner := server.DSN(embedded.Superuser, "postgres")
	if _, err := postgres.Migrate(b.Context(), owner, "", migrations.FS); err != nil {
		b.Fatal(err)
	}
	conn, err := pgx.Connect(b.Context(), owner)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, sql := range []string{
		`INSERT INTO tenants VALUES ('` + apptest.Tenant + `', now())`,
		`INSERT INTO accounts SELECT '` + apptest.Tenant + `', 'a' || i, 1000000000, 0, 0, 0, 1000000, 0, false, now() FROM generate_series(0, 999) i`,
		`INSERT INTO providers VALUES ('` + apptest.Tenant + `', 'hot', 'USD', 0, 0, 0, true, 30, 60, 0, false, false, NULL, 'MONTH', 'UTC', 1000000000000000, now())`,
	} {
		if _, err := conn.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	return server.DSN("settlementd_service", "postgres")
}

// serve runs a server on the database. The plain way has its own pool of 16 connections.
func serve(b *testing.B, dsn string, alone bool) *grpc.ClientConn {
	return serveWith(b, dsn, func(c *app.Config) {
		if c.Alone = alone; alone {
			c.PoolSize = 16
		}
	})
}

func serveWith(b *testing.B, dsn string, change func(*app.Config)) *grpc.ClientConn {
	config := apptest.Config(dsn)
	change(&config)
	l, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, config, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.Close()
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return conn
}
