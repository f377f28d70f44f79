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
// The two stand in one run, so that their ratio means something on a noisy machine. All is in one process: it is for comparing a change with
// what was before; settlementd bench tells more.
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

// pair makes the two calls of a job, and looks at their answers.
func pair(ctx context.Context, r settlementv1.ReservationServiceClient, s settlementv1.SettlementServiceClient, id, account string) error {
	j := job{apptest.Tenant, id, account, "hot"}
	reserved, err := r.Reserve(ctx, j.reserve())
	if err != nil {
		return err
	}
	if err := j.reserved(reserved); err != nil {
		return err
	}
	settled, err := s.Settle(ctx, j.settle())
	if err != nil {
		return err
	}
	return j.settled(settled)
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
