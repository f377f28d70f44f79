package jobs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
	"github.com/settlementd/settlementd/migrations"
)

// A row that somebody else has locked, the job's or any that a chunk changes, makes the chunk give up after half a second with nothing done
// and nothing remembered. The next call does it.
func TestChunkCommitsTogetherUnlessARowIsLocked(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"jobs", "reservations", "accounts", "providers", "budgets"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2)
			f.approved(t, f.manifest(t, "j1", 2))
			before := f.Copy(t)
			hold, err := f.DB.Owner().Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := hold.Exec(t.Context(), "SELECT FROM "+table+" FOR UPDATE"); err != nil {
				t.Fatal(err)
			}
			_, err = f.Jobs.RunChunk(t.Context(), runOf("j1"))
			failure(t, err, codes.Unavailable, "LEDGER_UNAVAILABLE")
			if err := hold.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.Unchanged(t, before)
			if c := f.run(t, "j1"); !c.GetDone() {
				t.Errorf("%v", c)
			}
			f.Verify(t)
		})
	}
}

// A statement that takes more than two seconds is cut off, wherever in the chunk it stands, and takes the chunk with it.
func TestChunkCommitsTogetherUnlessAStatementIsSlow(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.approved(t, f.manifest(t, "j1", 2))
	before := f.Copy(t)
	f.DB.Exec(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(20); RETURN NEW; END $$`)
	for _, event := range []string{"UPDATE ON reservations", "INSERT ON job_audit", "UPDATE ON jobs"} {
		f.DB.Exec("CREATE TRIGGER slow BEFORE " + event + " FOR EACH STATEMENT EXECUTE FUNCTION slow()")
		_, err := f.Jobs.RunChunk(t.Context(), runOf("j1"))
		failure(t, err, codes.Unavailable, "LEDGER_UNAVAILABLE")
		f.DB.Exec("DROP TRIGGER slow ON " + event[len("UPDATE ON "):])
		f.Unchanged(t, before)
	}
	if c := f.run(t, "j1"); !c.GetDone() {
		t.Errorf("%v", c)
	}
	f.Verify(t)
}

// The answer to COMMIT is lost. The caller learns that the chunk may stand, nobody runs it again behind its back, and the job tells.
func TestChunkCommitsTogetherAndTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]postgrestest.Fault{"after": postgrestest.CutAfterCommit, "before": postgrestest.CutBeforeCommit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 4)
			f.approved(t, f.manifest(t, "j1", 2))
			proxy := postgrestest.NewProxy(t, f.DB)
			through := apptest.On(t, f.DB, func(c *app.Config) { c.Database = proxy.ServiceDSN() })
			struck := proxy.Next(fault)
			_, err := through.Jobs.RunChunk(t.Context(), runOf("j1"))
			<-struck
			stands := 0
			if fault == postgrestest.CutAfterCommit {
				failure(t, err, codes.Unavailable, "CHUNK_IN_DOUBT")
				stands = 2
			} else {
				failure(t, err, codes.Unavailable, "LEDGER_UNAVAILABLE")
			}
			f.wantPrefix(t, "j1", stands)
			if c := f.run(t, "j1"); int(c.GetNextIndex()) != stands+2 {
				t.Errorf("the next chunk: %v", c)
			}
			f.wantPrefix(t, "j1", stands+2)
			f.Verify(t)
		})
	}
}

// COMMIT hangs: it is neither done nor undone. Until that is decided nobody is told how far the job has come, and no other chunk runs.
func TestChunkCommitsTogetherAndCommitHangs(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t, nil)
	f := &fleet{Service: apptest.On(t, server.New())}
	if _, err := f.Accounts.PutTenant(t.Context(), &settlementv1.PutTenantRequest{TenantId: apptest.Tenant}); err != nil {
		t.Fatal(err)
	}
	f.Seed(t)
	f.reserve(t, 4)
	f.approved(t, f.manifest(t, "j1", 2))
	server.HangCommits()
	ran := make(chan error, 1)
	go func() {
		_, err := f.Jobs.RunChunk(t.Context(), runOf("j1"))
		ran <- err
	}()
	get := &settlementv1.GetJobRequest{TenantId: apptest.Tenant, JobId: "j1"}
	postgrestest.Until(t, "the job cannot be told", func() bool {
		_, err := f.Jobs.GetJob(t.Context(), get)
		return err != nil
	})
	_, err := f.Jobs.GetJob(t.Context(), get)
	failure(t, err, codes.Unavailable, "LEDGER_UNAVAILABLE")
	_, err = f.Jobs.RunChunk(t.Context(), runOf("j1"))
	failure(t, err, codes.Unavailable, "LEDGER_UNAVAILABLE")
	server.ReleaseCommits()
	if err := <-ran; err != nil {
		failure(t, err, codes.Unavailable, "CHUNK_IN_DOUBT")
	}
	f.wantPrefix(t, "j1", 2)
	if c := f.run(t, "j1"); !c.GetDone() {
		t.Errorf("the next chunk: %v", c)
	}
	f.Verify(t)
}

// A caller who leaves in the middle leaves nothing behind: no half chunk, no open transaction, no connection.
func TestChunkCommitsTogetherOrNotWhenItsCallerLeaves(t *testing.T) {
	t.Parallel()
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2)
			f.approved(t, f.manifest(t, "j1", 1))
			ctx, leave := context.WithCancel(t.Context())
			w := newWorker(t, f.DB.ServiceDSN(), func(at string) error {
				if at == point {
					leave()
				}
				return nil
			})
			_, err := w.RunChunk(ctx, runOf("j1"))
			if next := int(f.job(t, "j1").GetJob().GetNextIndex()); (err == nil) != (next == 1) {
				t.Errorf("%v, and next_index is %d", err, next)
			} else {
				f.wantPrefix(t, "j1", next)
			}
			w.session(t)
			f.Verify(t)
		})
	}
}

// Two schemas of one database stay apart, with jobs and reservations of the same names, and the schema that nobody named stays empty.
func TestChunkCommitsTogetherInItsOwnSchema(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	fleets := map[string]*fleet{}
	for _, schema := range []string{"blue", "Grün"} {
		if _, err := postgres.Migrate(t.Context(), db.OwnerDSN(), schema, migrations.FS); err != nil {
			t.Fatal(err)
		}
		f := &fleet{Service: apptest.On(t, db, func(c *app.Config) { c.Schema = schema })}
		if _, err := f.Accounts.PutTenant(t.Context(), &settlementv1.PutTenantRequest{TenantId: apptest.Tenant}); err != nil {
			t.Fatal(err)
		}
		f.Seed(t)
		f.reserve(t, 4)
		f.approved(t, f.manifest(t, "j1", 2))
		fleets[schema] = f
	}
	blue, green := fleets["blue"], fleets["Grün"]
	blue.run(t, "j1")
	if chunks, sum, err := drain(t.Context(), blue.Service, "j1", 5); err != nil || len(chunks) != 1 || !sum.GetDone() {
		t.Errorf("%v, %v, %v", chunks, sum, err)
	}
	if r := green.report(t, "j1"); len(r.GetRemaining()) != 4 || len(r.GetCommitted()) != 0 || green.Get(t, green.ids[0]).GetState() != pending {
		t.Errorf("the other schema's job: %v", r)
	}
	if r := blue.report(t, "j1"); len(r.GetMatching()) != 4 {
		t.Errorf("the job: %v", r)
	}
	for _, table := range []string{"tenants", "accounts", "reservations", "entries", "jobs", "job_targets", "job_audit"} {
		if n := postgrestest.Value[int](db, "SELECT count(*) FROM public."+table); n != 0 {
			t.Errorf("public.%s has %d rows", table, n)
		}
	}
}

// Two tenants stay apart, with jobs and reservations of the same names.
func TestChunkCommitsTogetherInItsOwnTenant(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.approved(t, f.manifest(t, "j1", 2))
	f.DB.Exec(`INSERT INTO tenants VALUES ('other', now());
		INSERT INTO jobs SELECT 'other', job_id, action, chunk_size, total, manifest_hash, registered_by, registered_at, approved_by, approved_at, 0, NULL FROM jobs;
		INSERT INTO job_targets SELECT 'other', job_id, ordinal, reservation_id, revision, taken_unit, taken_amount FROM job_targets`)
	// The hash is of the tenant, too, so that nobody's approval can be carried over.
	_, err := f.Jobs.RunChunk(t.Context(), &settlementv1.RunChunkRequest{TenantId: "other", JobId: "j1"})
	failure(t, err, codes.FailedPrecondition, "JOB_CORRUPT")
	req := registration(untouched("j2", 2, f.ids...))
	req.TenantId = "other"
	resp, err := f.Jobs.RegisterJob(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	approve := approval(resp.GetJob(), "bob")
	approve.TenantId = "other"
	if _, err := f.Jobs.ApproveJob(t.Context(), approve); err != nil {
		t.Fatal(err)
	}
	_, err = f.Jobs.RunChunk(t.Context(), &settlementv1.RunChunkRequest{TenantId: "other", JobId: "j2"})
	conflict(t, err, "j2", f.ids[0], "MISSING")
	if c := f.run(t, "j1"); !c.GetDone() {
		t.Errorf("%v", c)
	}
	f.Verify(t)
}

// Jobs and the calls of workers on the same accounts go on beside each other, and nothing is lost or done twice.
func TestChunkCommitsTogetherUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 120, func(c *app.Config) { c.JobTargetsMax = 120 })
	f.approved(t, f.manifest(t, "j1", 5, f.ids[:60]...))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for _, id := range f.ids[60+15*i : 75+15*i] {
				f.Settle(t, id, "", apptest.Cancelled())
				f.Granted(t, "again-"+id, "k-"+id)
				f.Settle(t, "again-"+id, "k-"+id, apptest.Completed(apptest.Money(1)))
			}
		})
	}
	wg.Go(func() {
		for n := 5; n <= 60; n += 5 {
			if c := f.run(t, "j1"); int(c.GetNextIndex()) != n {
				t.Errorf("chunk to %d: %v", n, c)
			}
			f.Verify(t) // at any moment
		}
	})
	wg.Wait()
	f.wantPrefix(t, "j1", 60)
	f.Verify(t)
	want := apptest.Books{Credits: apptest.Credits + 1_000_000 - 60*10, Attempts: apptest.Attempts, Spent: 60}
	if got := f.Books(t); got != want {
		t.Errorf("the books are %s, want %s", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
}
