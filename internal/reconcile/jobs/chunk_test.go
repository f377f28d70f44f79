package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
	"github.com/settlementd/settlementd/internal/reconcile/jobs/jobdb"
)

// The errands are of no job: what names one must be in its audit, or verify finds it.
var (
	cancelling = ledger.Errand{Action: ledger.CancelPending}
	releasing  = ledger.Errand{Action: ledger.ReleaseCustomer}
)

// targets are those of reservations to which nothing has happened.
func targets(ids ...string) []ledger.Target {
	var all []ledger.Target
	for _, id := range ids {
		all = append(all, ledger.Target{Reservation: ledger.ReservationID(id), Taken: ledger.Taken{Unit: ledger.Credits, Amount: 10}})
	}
	return all
}

// begin opens a transaction of the caller that has written something already.
func (f *fleet) begin(t testing.TB) pgx.Tx {
	t.Helper()
	tx, err := f.DB.Ledger().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), "INSERT INTO tenants VALUES ('marker', now())"); err != nil {
		t.Fatal(err)
	}
	return tx
}

// commit ends a transaction of the caller, and finds in the database what it had written before.
func (f *fleet) commit(t testing.TB, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatalf("the caller's transaction cannot go on: %v", err)
	}
	if n := postgrestest.Value[int](f.DB, "SELECT count(*) FROM tenants WHERE tenant_id = 'marker'"); n != 1 {
		t.Error("what the caller had written is gone")
	}
}

func (f *fleet) apply(t testing.TB, tx pgx.Tx, e ledger.Errand, targets []ledger.Target) ([]ledger.Processed, error) {
	t.Helper()
	return jobdb.Apply(t.Context(), tx, apptest.Tenant, e, targets)
}

// A chunk inside a caller's transaction is the caller's to commit. It answers what it changed in the order of the ids, and writes neither a
// job nor an audit.
func TestChunkRollsBackWholeWithItsCaller(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 4)
	shuffled := targets(f.ids[2], f.ids[0], f.ids[1])
	before := f.Copy(t)
	tx := f.begin(t)
	done, err := f.apply(t, tx, cancelling, shuffled)
	if err != nil {
		t.Fatal(err)
	}
	var want []ledger.Processed
	for _, target := range targets(f.ids[:3]...) {
		want = append(want, ledger.Processed{Target: target, NewRevision: 1})
	}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Error(diff)
	}
	if shuffled[0].Reservation != ledger.ReservationID(f.ids[2]) {
		t.Error("the caller's list was sorted")
	}
	f.Unchanged(t, before) // nobody else sees it yet
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Unchanged(t, before)

	tx = f.begin(t)
	if _, err := f.apply(t, tx, cancelling, shuffled); err != nil {
		t.Fatal(err)
	}
	f.commit(t, tx)
	for i, id := range f.ids {
		if r := f.Get(t, id); (r.GetState() == cancelled) != (i < 3) {
			t.Errorf("%s is %v", id, r.GetState())
		}
	}
	if n := postgrestest.Value[int](f.DB, "SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM job_audit)"); n != 0 {
		t.Errorf("%d rows of jobs", n)
	}
}

// unfit are ways in which the second of three reservations is not as approved.
var unfit = []struct {
	name, what string
	spoil      func(t *testing.T, f *fleet, target *ledger.Target)
}{
	{"missing", "MISSING", func(_ *testing.T, _ *fleet, x *ledger.Target) { x.Reservation = "r00001x" }},
	{"a later revision", "REVISION", func(t *testing.T, f *fleet, x *ledger.Target) { f.Extend(t, string(x.Reservation), 3600) }},
	{"an earlier revision", "REVISION", func(_ *testing.T, _ *fleet, x *ledger.Target) { x.Revision = 1 }},
	{"another amount", "TAKEN", func(_ *testing.T, _ *fleet, x *ledger.Target) { x.Taken.Amount = 9 }},
	{"another unit", "TAKEN", func(_ *testing.T, _ *fleet, x *ledger.Target) {
		x.Taken = ledger.Taken{Unit: ledger.FreeAttempts, Amount: 1}
	}},
	{"permitted", "REVISION,STATE", func(t *testing.T, f *fleet, x *ledger.Target) {
		f.Permitted(t, apptest.Submission(string(x.Reservation), "k"))
	}},
	{"permitted before", "STATE", func(t *testing.T, f *fleet, x *ledger.Target) {
		f.Permitted(t, apptest.Submission(string(x.Reservation), "k"))
		x.Revision = 1
	}},
	{"settled", "REVISION,STATE", func(t *testing.T, f *fleet, x *ledger.Target) {
		f.Settle(t, string(x.Reservation), "", apptest.Cancelled())
	}},
	{"settled before", "STATE", func(t *testing.T, f *fleet, x *ledger.Target) {
		f.Settle(t, string(x.Reservation), "", apptest.Cancelled())
		x.Revision = 1
	}},
}

// One row that is not as approved rolls back its whole chunk as a conflict that names it and what differs; the caller's transaction stays as
// it was, and goes on.
func TestChunkRollsBackWholeForOneBadRow(t *testing.T) {
	t.Parallel()
	for _, c := range unfit {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 4)
			chunk := targets(f.ids[:3]...)
			c.spoil(t, f, &chunk[1])
			before := f.Copy(t)
			tx := f.begin(t)
			_, err := f.apply(t, tx, cancelling, chunk)
			found, ok := errors.AsType[*ledger.Conflict](err)
			if !ok || found.Reservation != chunk[1].Reservation || found.What() != c.what {
				t.Fatalf("%v, want a conflict of %s: %s", err, chunk[1].Reservation, c.what)
			}
			if done, err := f.apply(t, tx, cancelling, targets(f.ids[3])); err != nil || len(done) != 1 {
				t.Fatalf("the same transaction afterwards: %v, %v", done, err)
			}
			f.commit(t, tx)
			for _, id := range []string{f.ids[0], f.ids[2]} {
				if r := f.Get(t, id); r.GetState() != pending || r.GetRevision() != 0 {
					t.Errorf("%s is %v at revision %d", id, r.GetState(), r.GetRevision())
				}
			}
			if before["lines"] != f.Copy(t)["lines"] {
				t.Error("the journal changed")
			}
			f.Verify(t)
		})
	}
}

// An overdue reservation is expiry's, whether anybody has noticed or not: it is a conflict, and the chunk does not expire it on its way.
func TestChunkRollsBackWholeForAnOverdueRow(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	f.Extend(t, f.ids[1], 3600)
	f.TurnClock(20 * time.Minute)
	chunk := targets(f.ids...)
	chunk[1].Revision = 1
	before := f.Copy(t)
	tx := f.begin(t)
	_, err := f.apply(t, tx, cancelling, chunk)
	if found, ok := errors.AsType[*ledger.Conflict](err); !ok || string(found.Reservation) != f.ids[0] || found.What() != "OVERDUE" {
		t.Fatalf("%v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Unchanged(t, before)
	f.Verify(t)
}

// A malformed list is refused before any row is looked at.
func TestChunkRollsBackWholeForAMalformedList(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2)
	tx := f.begin(t)
	for field, spoil := range map[string]func([]ledger.Target){
		"manifest.targets[1].reservation_id": func(x []ledger.Target) { x[1] = x[0] },
		"manifest.targets[0].reservation_id": func(x []ledger.Target) { x[0].Reservation = "" },
		"manifest.targets[0].revision":       func(x []ledger.Target) { x[0].Revision = -1 },
		"manifest.targets[1].revision":       func(x []ledger.Target) { x[1].Revision = ledger.RevisionMax },
		"manifest.targets[0].taken":          func(x []ledger.Target) { x[0].Taken.Amount = -1 },
		"manifest.targets[1].taken_unit":     func(x []ledger.Target) { x[1].Taken.Unit = "EUROS" },
	} {
		chunk := targets(f.ids...)
		spoil(chunk)
		_, err := f.apply(t, tx, cancelling, chunk)
		if le, ok := errors.AsType[*ledger.Error](err); !ok || le.Kind != ledger.Invalid || le.Field != field {
			t.Errorf("%v, want %s", err, field)
		}
	}
	f.commit(t, tx)
	f.Verify(t)
}

// A fault of the database inside a chunk goes back to the savepoint as well.
func TestChunkRollsBackWholeForALockedRow(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3)
	hold, err := f.DB.Owner().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Exec(t.Context(), "SELECT FROM reservations WHERE reservation_id = $1 FOR UPDATE", f.ids[1]); err != nil {
		t.Fatal(err)
	}
	tx := f.begin(t)
	if _, err = f.apply(t, tx, cancelling, targets(f.ids...)); postgres.Classify(err) != postgres.LockTimeout {
		t.Fatalf("%v is no lock timeout", err)
	}
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, err := f.apply(t, tx, cancelling, targets(f.ids...)); err != nil || len(done) != 3 {
		t.Fatalf("the same transaction afterwards: %v, %v", done, err)
	}
	f.commit(t, tx)
	f.Verify(t)
}

// What a job makes of a reservation is what Settle makes of it, but for who saw it, why, and when.
func TestChunkHasTheEffectOfSettle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		errand  ledger.Errand
		outcome any
		change  func(*settlementv1.ReserveRequest)
		taken   ledger.Taken
	}{
		"cancel with credits": {cancelling, apptest.Cancelled(), func(*settlementv1.ReserveRequest) {}, ledger.Taken{Unit: ledger.Credits, Amount: 10}},
		"cancel with a free attempt": {cancelling, apptest.Cancelled(), func(r *settlementv1.ReserveRequest) {
			r.Funding = &settlementv1.Funding{Source: &settlementv1.Funding_FreeAttempt{FreeAttempt: &settlementv1.FreeAttempt{}}}
		}, ledger.Taken{Unit: ledger.FreeAttempts, Amount: 1}},
		"release": {releasing, apptest.Unavailable(apptest.Input), func(*settlementv1.ReserveRequest) {}, ledger.Taken{Unit: ledger.Credits, Amount: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 0)
			for _, id := range []string{"job", "settle"} {
				f.Granted(t, id, "", c.change)
				f.Permitted(t, apptest.Check(id, "check-"+id, apptest.Input))
			}
			f.TurnClock(2 * time.Minute)
			f.Settle(t, "settle", "", c.outcome)
			before := f.Books(t)
			tx := f.begin(t)
			target := ledger.Target{Reservation: "job", Revision: 1, Taken: c.taken}
			if _, err := f.apply(t, tx, c.errand, []ledger.Target{target}); err != nil {
				t.Fatal(err)
			}
			f.commit(t, tx)
			after := f.Books(t)
			if moved := before.CreditsHeld + before.AttemptsHeld - after.CreditsHeld - after.AttemptsHeld; moved != int64(c.taken.Amount) {
				t.Errorf("%d went back", moved)
			}
			diff := cmp.Diff(f.Get(t, "settle"), f.Get(t, "job"), protocmp.Transform(),
				protocmp.IgnoreFields(&settlementv1.Reservation{}, "reservation_id", "deadline", "deadline_max", "created_at", "updated_at"),
				protocmp.IgnoreFields(&settlementv1.Outcome{}, "reason", "observer", "settled_at"),
				protocmp.IgnoreFields(&settlementv1.Line{}, "request_key", "permitted_at", "permit_expires_at", "check_timeout_at", "updated_at"))
			if diff != "" {
				t.Error(diff)
			}
			f.Verify(t)
		})
	}
}
