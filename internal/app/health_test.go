package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// The one connection for reads waits for a long time; the server tells all the while whether its database can be written to.
func TestHealthDoesNotWaitBehindALongRead(t *testing.T) {
	t.Parallel()
	s := apptest.New(t, func(c *app.Config) { c.ReadPoolSize, c.CallTimeout = 1, time.Minute })
	stream, err := healthpb.NewHealthClient(s.Conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	until := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		for got := (&healthpb.HealthCheckResponse{}); got.GetStatus() != want; {
			if got, err = stream.Recv(); err != nil {
				t.Fatal(err)
			}
		}
	}
	until(healthpb.HealthCheckResponse_SERVING)

	tx, err := s.DB.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), "LOCK TABLE exceptions"); err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := s.Reconciliation.ListExceptions(t.Context(), &settlementv1.ListExceptionsRequest{TenantId: apptest.Tenant})
		read <- err
	}()
	const sessions = "FROM pg_stat_activity WHERE datname = current_database() AND usename = 'settlementd_service' AND "
	postgrestest.Until(t, "the read waits", func() bool {
		return postgrestest.Value[int](s.DB, "SELECT count(*) "+sessions+"wait_event_type = 'Lock'") == 1
	})
	database := "ALTER DATABASE " + pgx.Identifier{s.DB.Name}.Sanitize()
	s.DB.Exec(database + " SET default_transaction_read_only = on; SELECT pg_terminate_backend(pid) " + sessions + "state = 'idle'")
	until(healthpb.HealthCheckResponse_NOT_SERVING)
	s.DB.Exec("BEGIN READ WRITE; " + database + " RESET default_transaction_read_only; COMMIT")
	until(healthpb.HealthCheckResponse_SERVING)
	select {
	case err := <-read:
		t.Fatalf("the read did not wait: %v", err)
	default:
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-read; err != nil {
		t.Errorf("the read: %v", err)
	}
}
