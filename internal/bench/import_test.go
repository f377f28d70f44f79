package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/embedded"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

const (
	statementLines = 100_000
	statementPage  = 500
)

// BenchmarkImportStatement imports statements of 100,000 lines: one that makes every cost known, the same costs in another statement, and
// the same statement again. The heap is that of server and client together, in one process.
func BenchmarkImportStatement(b *testing.B) {
	dsn := durableServer(b)
	client := settlementv1.NewStatementServiceClient(serve(b, dsn, false))
	owner, err := pgx.Connect(b.Context(), ownerOf(dsn))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = owner.Close(context.Background()) })
	runs := 0
	b.Run("costs=unknown", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			runs++
			request(b, owner, runs)
			b.StartTimer()
			got := measured(b, func() *settlementv1.Statement { return importAll(b, client, fmt.Sprintf("first-%d", runs), runs) })
			if got.GetMatched() != statementLines || got.GetAlreadyKnown() != 0 {
				b.Fatalf("came to %v", got)
			}
		}
	})
	b.Run("costs=known", func(b *testing.B) {
		for i := range b.N {
			got := measured(b, func() *settlementv1.Statement { return importAll(b, client, fmt.Sprintf("second-%d-%d", b.N, i), runs) })
			if got.GetAlreadyKnown() != statementLines {
				b.Fatalf("came to %v", got)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		for range b.N {
			got := measured(b, func() *settlementv1.Statement { return importAll(b, client, fmt.Sprintf("first-%d", runs), runs) })
			if got.GetLines() != statementLines {
				b.Fatalf("came to %v", got)
			}
		}
	})
}

// importAll streams the lines of a run's requests without ever holding more than a page of them.
func importAll(b *testing.B, client settlementv1.StatementServiceClient, id string, run int) *settlementv1.Statement {
	stream, err := client.ImportStatement(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	send := func(m *settlementv1.ImportStatementRequest) {
		if err := stream.Send(m); err != nil {
			_, err = stream.CloseAndRecv()
			b.Fatal(err)
		}
	}
	send(&settlementv1.ImportStatementRequest{Message: &settlementv1.ImportStatementRequest_Header{Header: &settlementv1.StatementHeader{
		TenantId: apptest.Tenant, ProviderId: "hot", StatementId: id,
	}}})
	for at := 0; at < statementLines; at += statementPage {
		page := &settlementv1.StatementPage{}
		for i := at; i < at+statementPage; i++ {
			page.Lines = append(page.Lines, &settlementv1.StatementLine{
				LineNumber: int64(i + 2), RequestKey: fmt.Sprintf("run-%d-%d", run, i), Cost: "0.000007", Currency: "USD",
			})
		}
		send(&settlementv1.ImportStatementRequest{Message: &settlementv1.ImportStatementRequest_Page{Page: page}})
	}
	resp, err := stream.CloseAndRecv()
	if err != nil {
		b.Fatal(err)
	}
	return resp.GetStatement()
}

// measured reports lines per second, and how far the heap grew above what it was before.
func measured(b *testing.B, run func() *settlementv1.Statement) *settlementv1.Statement {
	runtime.GC()
	before := heap()
	peak, ended := make(chan uint64), make(chan struct{})
	go func() {
		highest := before
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				highest = max(highest, heap())
			case <-ended:
				peak <- highest
				return
			}
		}
	}()
	start := time.Now()
	s := run()
	b.ReportMetric(statementLines/time.Since(start).Seconds(), "lines/s")
	close(ended)
	const mebibyte = 1 << 20
	highest := <-peak
	b.ReportMetric(float64(highest)/mebibyte, "peak-heap-MiB")
	b.ReportMetric(float64(highest-before)/mebibyte, "heap-growth-MiB")
	return s
}

// ownerOf connects as the owner to where the service connects to.
func ownerOf(dsn string) string {
	return strings.Replace(dsn, "user='"+postgrestest.Service+"'", "user='"+embedded.Superuser+"'", 1)
}

// heap is how many bytes the objects on the heap have, garbage that is not collected yet included.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// request makes as many requests as a statement has lines, each accepted, of a reservation of its own and with a cost that nobody knows.
func request(b *testing.B, owner *pgx.Conn, run int) {
	b.Helper()
	for _, sql := range []string{
		`INSERT INTO budgets VALUES ('acme', 'hot', date_trunc('month', now(), 'UTC'), 1000000000000000, 1000000000000, 0) ON CONFLICT DO NOTHING`,
		fmt.Sprintf(`INSERT INTO reservations (tenant_id, reservation_id, account_id, provider_id, funding_kind, credits_asked, budget_micros, currency,
				taken_unit, taken_amount, period_start, permit_seconds, not_received_after_seconds, idempotency_key_seconds, max_age_seconds,
				output_check_required, output_rejection_captures, created_at, state, revision, deadline, deadline_max, credit_state, credits_captured,
				slot_state, budget_state, updated_at)
			SELECT 'acme', 'r-%[1]d-' || i, 'a' || i %% 1000, 'hot', 'CREDITS', 1, 10, 'USD', 'CREDITS', 1, date_trunc('month', now(), 'UTC'), 30, 60, 0,
				604800, false, false, now(), 'PROCESSING', 2, now() + interval '1 day', now() + interval '7 days', 'HELD', 0, 'HELD', 'HELD', now()
			FROM generate_series(0, %[2]d - 1) i`, run, statementLines),
		fmt.Sprintf(`INSERT INTO lines (tenant_id, request_key, reservation_id, provider_id, kind, permit_token, permitted_at, knowledge,
				permit_expires_at, provider_task_id, cost_adjustment_micros, updated_at)
			SELECT 'acme', 'run-%[1]d-' || i, 'r-%[1]d-' || i, 'hot', 'GENERATION', 't', now(), 'ACCEPTED', now(), 'task-%[1]d-' || i, 0, now()
			FROM generate_series(0, %[2]d - 1) i`, run, statementLines),
	} {
		if _, err := owner.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
}
