// Package apptest runs the whole service for a test: a real server on a loopback port, on a database of the test's own, as the role that
// the service runs as.
package apptest

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// Tenant is the tenant that New makes.
const Tenant = "acme"

// Service is a running server with clients for it.
type Service struct {
	DB      *postgrestest.DB
	Address string
	Conn    *grpc.ClientConn

	Reservations   settlementv1.ReservationServiceClient
	Settlements    settlementv1.SettlementServiceClient
	Reconciliation settlementv1.ReconciliationServiceClient
	Jobs           settlementv1.ReconciliationJobServiceClient
	Accounts       settlementv1.AccountServiceClient

	stop func()
}

// Config is what a test's server runs with unless the test changes it. Sweeps are far apart, so that a test decides when expiry happens.
func Config(dsn string) app.Config {
	return app.Config{
		Database: dsn, PoolSize: 4, ReadPoolSize: 2, Prepared: true,
		BatchMax: 256, TenantBatches: 3, QueueMax: 4096, DefaultTTL: 15 * time.Minute, MaxAge: 7 * 24 * time.Hour, SweepInterval: time.Hour,
		ArchiveInterval: time.Hour,
		JobTargetsMax:   64, JobChunkMax: 10,
		CallTimeout: 10 * time.Second, SlowCall: time.Minute, ShutdownTimeout: 10 * time.Second, MessageBytesMax: 4 << 20,
		Log: slog.New(slog.DiscardHandler),
	}
}

// New runs a server on a new database, with a tenant.
func New(t testing.TB, change ...func(*app.Config)) *Service {
	t.Helper()
	s := On(t, postgrestest.New(t), change...)
	if _, err := s.Accounts.PutTenant(t.Context(), &settlementv1.PutTenantRequest{TenantId: Tenant}); err != nil {
		t.Fatal(err)
	}
	return s
}

// On runs one more server on a database, as another replica would.
func On(t testing.TB, db *postgrestest.DB, change ...func(*app.Config)) *Service {
	t.Helper()
	config := Config(db.ServiceDSN())
	for _, f := range change {
		f(&config)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, config, l) }()

	s := Dial(t, l.Addr().String())
	s.DB = db
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	}
	t.Cleanup(s.stop)
	return s
}

// Dial makes clients for a server that runs already.
func Dial(t testing.TB, address string) *Service {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &Service{
		Address: address, Conn: conn,
		Reservations:   settlementv1.NewReservationServiceClient(conn),
		Settlements:    settlementv1.NewSettlementServiceClient(conn),
		Reconciliation: settlementv1.NewReconciliationServiceClient(conn),
		Jobs:           settlementv1.NewReconciliationJobServiceClient(conn),
		Accounts:       settlementv1.NewAccountServiceClient(conn),
	}
}

// Stop ends the server as SIGTERM would, and waits for it.
func (s *Service) Stop() { s.stop() }
