package postgres_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

func files(sql ...string) fs.FS {
	m := fstest.MapFS{}
	for i, s := range sql {
		m[fmt.Sprintf("%05d_step.sql", i+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + s + "\n")}
	}
	return m
}

func TestReplicasMigrateAtOnce(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	steps := files("CREATE TABLE first (n int);", "CREATE TABLE second (n int);", "SELECT pg_sleep(0.2);")
	type result struct {
		done postgres.Migrated
		err  error
	}
	results := make(chan result)
	const replicas = 4
	for range replicas {
		go func() {
			done, err := postgres.Migrate(t.Context(), db.OwnerDSN(), "at once", steps)
			results <- result{done, err}
		}()
	}
	applied := 0
	for range replicas {
		r := <-results
		if r.err != nil {
			t.Error(r.err)
		}
		if r.done.To != 3 {
			t.Errorf("a replica ends at %d", r.done.To)
		}
		applied += len(r.done.Applied)
	}
	if applied != 3 {
		t.Errorf("%d files were applied", applied)
	}
}

func TestSchemasOfOneDatabaseStayApart(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for schema, want := range map[string]int64{"one": 1, `T"wo`: 2} {
		all := []string{"CREATE TABLE mine (n int);", "ALTER TABLE mine ADD COLUMN more int;"}
		done, err := postgres.Migrate(t.Context(), db.OwnerDSN(), schema, files(all[:want]...))
		if err != nil {
			t.Fatal(err)
		}
		if done.From != 0 || done.To != want {
			t.Errorf("%s: %+v", schema, done)
		}
	}
	got := postgrestest.Value[string](db, `SELECT string_agg(schemaname || '.' || tablename, ' ' ORDER BY schemaname COLLATE "C", tablename COLLATE "C")
		FROM pg_tables WHERE schemaname IN ('one', 'T"wo')`)
	if diff := cmp.Diff(`T"wo.goose_db_version T"wo.mine one.goose_db_version one.mine`, got); diff != "" {
		t.Error(diff)
	}
}

func TestADatabaseThatIsNewerIsLeftAlone(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	if _, err := postgres.Migrate(t.Context(), db.OwnerDSN(), "s", files("SELECT 1;", "SELECT 2;")); err != nil {
		t.Fatal(err)
	}
	done, err := postgres.Migrate(t.Context(), db.OwnerDSN(), "s", files("SELECT 1;"))
	if !errors.Is(err, postgres.ErrNewer) || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("an older program is told %v", err)
	}
	if diff := cmp.Diff(postgres.Migrated{From: 2, To: 2}, done); diff != "" {
		t.Error(diff)
	}
}

func TestAFileThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	broken := files("CREATE TABLE good (n int);", "CREATE TABLE bad (n int); SELECT 1/0;")
	done, err := postgres.Migrate(t.Context(), db.OwnerDSN(), "s", broken)
	if err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Errorf("told %v", err)
	}
	if done.From != 0 || done.To != 1 {
		t.Errorf("%+v", done)
	}
	if n := postgrestest.Value[int](db, "SELECT count(*) FROM pg_tables WHERE schemaname = 's' AND tablename = 'bad'"); n != 0 {
		t.Error("the failed file left its table")
	}
	if done, err = postgres.Migrate(t.Context(), db.OwnerDSN(), "s", files("SELECT 1;", "CREATE TABLE bad (n int);")); err != nil || done.From != 1 || done.To != 2 {
		t.Errorf("mended: %+v, %v", done, err)
	}
}

func TestMigrateAsAnOwnerWhoMakesNoSchemas(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	db.Exec("CREATE SCHEMA given AUTHORIZATION " + postgrestest.Service)
	if _, err := postgres.Migrate(t.Context(), db.ServiceDSN(), "given", files("CREATE TABLE mine (n int);")); err != nil {
		t.Error(err)
	}
	if _, err := postgres.Migrate(t.Context(), db.ServiceDSN(), "denied", files("SELECT 1;")); err == nil ||
		!strings.Contains(err.Error(), "create it yourself") {
		t.Errorf("without the privilege: %v", err)
	}
}
