package cases_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// archiveAll has another server archive whatever is over, until so many reservations are archived, and ends it.
func archiveAll(t *testing.T, s *apptest.Service, n int) {
	t.Helper()
	archiver := apptest.On(t, s.DB, func(c *app.Config) { c.ArchiveAfter, c.ArchiveInterval = time.Microsecond, 10*time.Millisecond })
	postgrestest.Until(t, fmt.Sprintf("%d reservations are archived", n), func() bool { return archived(s) == n })
	archiver.Stop()
}

func archived(s *apptest.Service) int {
	return postgrestest.Value[int](s.DB, "SELECT count(*) FROM archived_reservations")
}

// sixEndings are the calls of six jobs that are over when these have been made: every cost is known.
func sixEndings() []proto.Message {
	return []proto.Message{
		apptest.Reserve("completed", "K1", credits(5), long), apptest.Settlement("completed", "K1", apptest.Charged(3, apptest.Money(7))),
		apptest.Reserve("failed", "K2", attemptOr(5), long), apptest.Report("failed", "K2", apptest.Accepted("task")),
		apptest.Settlement("failed", "K2", apptest.Failed(nil)), apptest.Proof("failed", "K2", apptest.Costs(20)),
		apptest.Reserve("cancelled", "K3", credits(5), long), apptest.Settlement("cancelled", "", apptest.Cancelled(), apptest.NotSent("K3")),
		apptest.Reserve("rejected", "K4", credits(5), long), apptest.Settlement("rejected", "K4", apptest.Rejected(apptest.Output, apptest.Money(9))),
		apptest.Reserve("unchecked", "", credits(5), long), apptest.Check("unchecked", "C5", apptest.Input),
		apptest.Settlement("unchecked", "", apptest.Unavailable(apptest.Input)), apptest.Report("unchecked", "C5", apptest.EndedBadly(apptest.Money(1))),
		apptest.Reserve("refused", "", credits(5), long), apptest.Check("refused", "C6", apptest.Input),
		apptest.Settlement("refused", "", apptest.Rejected(apptest.Input, apptest.Money(2)), apptest.Checked("C6")),
	}
}

// late are calls about a job that is over, each with its own answer: other ends, other costs, new requests, other content, looks.
func late(id, key string) []proto.Message {
	account := string(apptest.Account)
	return []proto.Message{
		apptest.Settlement(id, key, apptest.Completed(apptest.Money(250))), apptest.Settlement(id, key, apptest.Failed(apptest.Money(0))),
		apptest.Settlement(id, "", apptest.Cancelled()), apptest.Settlement(id, "", apptest.Unavailable(apptest.Input)),
		apptest.Settlement(id, "nobody's", apptest.Completed(apptest.Money(4))), apptest.Proof(id, key, apptest.Costs(99)),
		apptest.Report(id, "nobody's", apptest.Unsure()), apptest.Submission(id, "another"), apptest.Resend(id, key),
		&settlementv1.ExtendReservationRequest{TenantId: apptest.Tenant, ReservationId: id, TtlSeconds: 60},
		apptest.Reserve(id, key, credits(6), long),
		&settlementv1.GetReservationRequest{TenantId: apptest.Tenant, ReservationId: id},
		&settlementv1.ListReservationsRequest{TenantId: apptest.Tenant},
		&settlementv1.ListReservationsRequest{TenantId: apptest.Tenant, AccountId: &account},
	}
}

// said is what a call was answered: the message, or the status with its details.
type said struct {
	Answer  proto.Message
	Code    codes.Code
	Message string
	Details []proto.Message
}

func askAll(t *testing.T, s *apptest.Service, calls []proto.Message) []said {
	t.Helper()
	var all []said
	for _, c := range calls {
		answer, err := try(t.Context(), s, c)
		one := said{Answer: answer, Code: status.Code(err), Message: status.Convert(err).Message()}
		for _, d := range status.Convert(err).Details() {
			if _, pause := d.(*errdetails.RetryInfo); !pause {
				one.Details = append(one.Details, d.(proto.Message))
			}
		}
		all = append(all, one)
	}
	return all
}

// TestCase05ArchivedReservationsAnswerAsBefore makes every call of six jobs again, and those that come too late, before and after the jobs were
// archived: nobody who calls can tell.
func TestCase05ArchivedReservationsAnswerAsBefore(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	calls := sixEndings()
	for _, c := range calls {
		send(t, s, c)
	}
	for _, job := range [][2]string{{"completed", "K1"}, {"failed", "K2"}, {"cancelled", "K3"}, {"rejected", "K4"}, {"unchecked", "C5"}, {"refused", "C6"}} {
		calls = append(calls, late(job[0], job[1])...)
	}
	askAll(t, s, calls) // what may still become known is known now
	before := askAll(t, s, calls)
	books := s.Books(t)
	archiveAll(t, s, 6)
	is(t, "reservations that are not archived", postgrestest.Value[int](s.DB, "SELECT count(*) FROM reservations"), 0)
	copied := s.Copy(t)
	after := askAll(t, s, calls)
	for i, c := range calls {
		if diff := cmp.Diff(before[i], after[i], protocmp.Transform()); diff != "" {
			t.Errorf("%T %v (-before +after):\n%s", c, c, diff)
		}
	}
	s.Unmoved(t, copied)
	s.WantBooks(t, books)
}

// TestCase05ALateCostOfAnArchivedReservationIsRecorded has what is learnt long after: a task and a success of a job that was cancelled, a charge
// for a request that nobody knows, and a price that was wrong.
func TestCase05ALateCostOfAnArchivedReservationIsRecorded(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	for _, c := range sixEndings() {
		send(t, s, c)
	}
	archiveAll(t, s, 6)
	books := s.Books(t)

	r := wantAnswer(t, s.Settle(t, "cancelled", "K3", apptest.Completed(apptest.Money(250)), task("late")), superseded, cancelled)
	wantEnd(t, r, endCancelled)
	is(t, "the task of a request that was said not to be sent", line(t, r, "K3").GetProviderTaskId(), "late")
	s.WantExceptions(t, "cancelled", apptest.Exception{Key: "K3", Reason: "COST_CONFLICT", Cost: 250, Count: 1},
		apptest.Exception{Key: "K3", Reason: "SUPERSEDED", Cost: 250, Count: 1})
	wantRefused(t, s.Settle(t, "rejected", "nobody's", apptest.Completed(apptest.Money(4))), unknownAttempt)
	wantRefused(t, s.Reconcile(t, "completed", "K1", apptest.Costs(11)), settlementv1.RefusedReason_REFUSED_REASON_COST_CONFLICT)
	s.WantBooks(t, books)

	list := must(s.Reconciliation.ListExceptions(t.Context(), &settlementv1.ListExceptionsRequest{TenantId: apptest.Tenant}))(t)
	for _, e := range list.GetExceptions() {
		if e.GetReason() == settlementv1.ExceptionReason_EXCEPTION_REASON_SUPERSEDED {
			continue
		}
		send(t, s, &settlementv1.ResolveExceptionRequest{
			TenantId: apptest.Tenant, ExceptionId: e.GetExceptionId(),
			Resolution: &settlementv1.ResolveExceptionRequest_Apply{Apply: &settlementv1.ApplyResolution{Reason: "the invoice says so"}},
		})
	}
	books.Spent += 250 + 4 + (11 - 7)
	s.WantBooks(t, books)
	is(t, "revision", s.Get(t, "cancelled").GetRevision(), 3)
	is(t, "archived", archived(s), 6)
}

// TestCase05AReplayThatMeetsTheArchiver comes while the reservation is on its way into the archive, and again when it is there.
func TestCase05AReplayThatMeetsTheArchiver(t *testing.T) {
	t.Parallel()
	x := &site{seeded(t), t}
	defer x.Verify(t)
	calls := sixEndings()[:2]
	for _, c := range calls {
		send(t, x.Service, c)
	}
	before := askAll(t, x.Service, calls)
	h := x.hold("SELECT FROM reservations FOR UPDATE")
	h.exec(`CREATE TEMP TABLE moving ON COMMIT DROP AS SELECT * FROM reservations; ALTER TABLE moving DROP due_at`)
	h.exec(`DO $$ DECLARE names text := (SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute
			WHERE attrelid = 'moving'::regclass AND attnum > 0 AND NOT attisdropped);
		BEGIN
			EXECUTE format('WITH gone AS (DELETE FROM reservations) INSERT INTO archived_reservations (%s) SELECT %s FROM moving', names, names);
		END $$`)
	answers := make([]chan said, len(calls))
	for i, c := range calls {
		answers[i] = make(chan said, 1)
		go func() { answers[i] <- askAll(t, x.Service, []proto.Message{c})[0] }()
	}
	x.untilBlocked(1)
	h.exec("COMMIT")
	for i := range calls {
		// On a machine so busy that the move took longer than a call waits, the call is told so.
		if got := <-answers[i]; got.Code != codes.Unavailable {
			if diff := cmp.Diff(before[i], got, protocmp.Transform()); diff != "" {
				t.Errorf("%T on the way (-before +after):\n%s", calls[i], diff)
			}
		}
	}
	for i, got := range askAll(t, x.Service, calls) {
		if diff := cmp.Diff(before[i], got, protocmp.Transform()); diff != "" {
			t.Errorf("%T (-before +after):\n%s", calls[i], diff)
		}
	}
	is(t, "archived", archived(x.Service), 1)
}

// TestCase05AnArchiverWhoseCommitHangs has a reservation neither here nor there for as long as nobody can know: who looks sees what stood, a replay
// gets no definite answer, and in the end all is as it was.
func TestCase05AnArchiverWhoseCommitHangs(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t, nil)
	x := onServer(t, server)
	defer x.Verify(t)
	calls := sixEndings()[:2]
	for _, c := range calls {
		send(t, x.Service, c)
	}
	before := askAll(t, x.Service, calls)
	server.HangCommits()
	done := make(chan error, 1)
	go func() {
		_, err := ledgerdb.New(x.DB.Ledger()).Archive(context.Background(), apptest.Tenant, ledgerdb.ArchivePage{Scan: 10})
		done <- err
	}()
	postgrestest.Until(t, "the COMMIT of the move hangs", func() bool {
		return x.number(`SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE a.wait_event = 'SyncRep' AND a.datname = current_database() AND l.relation = 'archived_reservations'::regclass`) > 0
	})
	is(t, "state", x.Get(t, "completed").GetState(), completed)
	for _, c := range calls {
		_, err := try(t.Context(), x.Service, c)
		indefinite(t, "a replay", err)
	}
	server.ReleaseCommits()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for i, got := range askAll(t, x.Service, calls) {
		if diff := cmp.Diff(before[i], got, protocmp.Transform()); diff != "" {
			t.Errorf("%T (-before +after):\n%s", calls[i], diff)
		}
	}
	is(t, "archived", archived(x.Service), 1)
}
