package cases_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// overdue makes three jobs whose deadlines have passed and that nobody has called about since: one with nothing alive, one permitted and one
// accepted. Each lives 60 seconds.
func overdue(t *testing.T, s *apptest.Service) {
	t.Helper()
	s.Granted(t, "idle", "", ttl(60))
	s.Granted(t, "permitted", "KP", ttl(60))
	s.Granted(t, "accepted", "KA", ttl(60))
	s.Report(t, "accepted", "KA", apptest.Accepted("task"))
	s.TurnClock(time.Minute)
}

// TestCase48ExpiryHappensInTheCallThatFindsIt calls about overdue jobs in every way, and then lets the sweep look.
func TestCase48ExpiryHappensInTheCallThatFindsIt(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(s *apptest.Service, id, key string) (*settlementv1.Reservation, bool){
		"BeginSubmission": func(s *apptest.Service, id, key string) (*settlementv1.Reservation, bool) {
			resp := s.Begin(t, apptest.Submission(id, key+"-2"))
			return resp.GetReservation(), resp.GetPermit() == nil
		},
		"ExtendReservation": func(s *apptest.Service, id, _ string) (*settlementv1.Reservation, bool) {
			resp := s.Extend(t, id, 600)
			return s.Get(t, id), resp.GetRefused() == settlementv1.ExtendRefusal_EXTEND_REFUSAL_NOT_OPEN
		},
		"Settle": func(s *apptest.Service, id, _ string) (*settlementv1.Reservation, bool) {
			resp := s.Settle(t, id, "", apptest.Cancelled())
			return resp.GetReservation(), resp.GetDisposition() != applied
		},
		"Reserve": func(s *apptest.Service, id, key string) (*settlementv1.Reservation, bool) {
			if id == "idle" {
				key = ""
			}
			got := reserve(t, s, apptest.Reserve(id, key, ttl(60))).GetGranted()
			return got.GetReservation(), got.GetPermit() == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := seeded(t)
			defer s.Verify(t)
			overdue(t, s)
			r, nothing := call(s, "idle", "KI")
			is(t, "the call did nothing more to what has expired", nothing, true)
			wantEnd(t, r, endExpired)
			is(t, "observer", r.GetOutcome().GetObserver(), settlementv1.Observer_OBSERVER_EXPIRY)
			is(t, "events of the end", s.Entries(t, "idle", "EXPIRED"), 1)

			r, _ = call(s, "permitted", "KP")
			is(t, "permitted: state", r.GetState(), uncertain)
			is(t, "permitted: cause", wantLine(t, r, "KP", lineUncertain).GetUncertainCause(), settlementv1.UncertainCause_UNCERTAIN_CAUSE_DEADLINE_PASSED)
			r, _ = call(s, "accepted", "KA")
			is(t, "accepted: state", r.GetState(), processing)
			wantLine(t, r, "KA", lineAccepted)
			for _, id := range []string{"permitted", "accepted"} {
				is(t, id+" marked", s.Entries(t, id, "OVERDUE"), 1)
			}
			sweepFindsNothing(t, s, "after", "idle", "permitted", "accepted")
		})
	}
}

// sweepFindsNothing runs a server that sweeps, waits until it has expired two jobs that nobody calls about, one after the other, and expects
// the named ones to be as they were. The moment is in the names of the two.
func sweepFindsNothing(t *testing.T, s *apptest.Service, when string, ids ...string) {
	t.Helper()
	before := map[string]*settlementv1.Reservation{}
	for _, id := range ids {
		before[id] = s.Get(t, id)
	}
	sweeper := apptest.On(t, s.DB, func(c *app.Config) { c.SweepInterval = 10 * time.Millisecond })
	for _, id := range []string{when + "-1", when + "-2"} {
		s.Granted(t, id, "", credits(0), micros(0))
		passDeadline(t, s, id)
		comesTrue(t, id+" expires", func() bool { return s.Get(t, id).GetState() == expired })
	}
	sweeper.Stop()
	for id, was := range before {
		if diff := cmp.Diff(was, s.Get(t, id), protocmp.Transform()); diff != "" {
			t.Errorf("the sweep found something about %s (-before +after):\n%s", id, diff)
		}
	}
}

// TestCase48AnAcceptedJobIsMarkedOnceAndMakesNoLoop sweeps an overdue job, and then learns by evidence that another one is accepted.
func TestCase48AnAcceptedJobIsMarkedOnceAndMakesNoLoop(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	overdue(t, s)
	sweeper := apptest.On(t, s.DB, func(c *app.Config) { c.SweepInterval = 10 * time.Millisecond })
	for _, id := range []string{"permitted", "accepted"} {
		comesTrue(t, id+" is marked", func() bool { return s.Get(t, id).GetOverdueSince() != nil })
	}
	sweeper.Stop()
	sweepFindsNothing(t, s, "marked", "idle", "permitted", "accepted")
	is(t, "marks of the accepted one", s.Entries(t, "accepted", "OVERDUE"), 1)

	r := wantAnswer(t, s.Reconcile(t, "permitted", "KP", apptest.Running("task-2")), applied, processing)
	is(t, "still overdue", r.GetOverdueSince() != nil, true)
	sweepFindsNothing(t, s, "accepted-late", "permitted")
	is(t, "marks of the one found accepted", s.Entries(t, "permitted", "OVERDUE"), 1)

	longer := apptest.Running("task-2")
	longer.TtlSeconds = new(int64(120))
	r = s.Reconcile(t, "permitted", "KP", longer).GetReservation()
	is(t, "overdue with a new deadline", r.GetOverdueSince() != nil, false)
	sweepFindsNothing(t, s, "longer", "permitted")
	s.TurnClock(time.Minute + 2*time.Minute)
	wantAnswer(t, s.Settle(t, "permitted", "", apptest.Cancelled()), held, processing)
	is(t, "marks after the new deadline", s.Entries(t, "permitted", "OVERDUE"), 2)
}

// TestCase48AnExtensionInTimeClearsTheMark pushes the deadline of a marked job out, and not beyond the maximum age.
func TestCase48AnExtensionInTimeClearsTheMark(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	overdue(t, s)
	got := s.Extend(t, "accepted", 600).GetReservation()
	is(t, "overdue", got.GetOverdueSince() != nil, false)
	is(t, "changes: marked, then extended", got.GetRevision(), 3)
	before := s.Copy(t)
	is(t, "beyond the maximum age", s.Extend(t, "accepted", 7*86_400).GetRefused(), settlementv1.ExtendRefusal_EXTEND_REFUSAL_BEYOND_MAXIMUM_AGE)
	is(t, "an earlier deadline", s.Extend(t, "accepted", 1).GetReservation().GetDeadline().AsTime(), got.GetDeadline().AsTime())
	s.Unchanged(t, before)
}

// TestCase55AnOverdueJobEndsInTheCallThatLeavesItWithout learns of overdue jobs that nothing of them is alive.
func TestCase55AnOverdueJobEndsInTheCallThatLeavesItWithout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		accepted bool
		fact     func(s *apptest.Service) answer
		kind     settlementv1.OutcomeKind
	}{
		"not accepted": {false, func(s *apptest.Service) answer { return s.Report(t, "J", "K", apptest.NotAccepted(apptest.Money(0))) }, endExpired},
		"not sent":     {false, func(s *apptest.Service) answer { return s.Report(t, "J", "K", apptest.Unsent("K")) }, endExpired},
		"not received": {false, func(s *apptest.Service) answer { return s.Reconcile(t, "J", "K", apptest.NotReceived()) }, endNotReceived},
		"failed":       {true, func(s *apptest.Service) answer { return s.Report(t, "J", "K", apptest.EndedBadly(apptest.Money(0))) }, endExpired},
		"settled":      {true, func(s *apptest.Service) answer { return s.Settle(t, "J", "K", apptest.Failed(apptest.Money(0))) }, endProviderFailed},
		"proven": {true, func(s *apptest.Service) answer {
			return s.Reconcile(t, "J", "K", apptest.FailedThere(apptest.Money(0)))
		}, endProviderFailed},
	} {
		t.Run(name, func(t *testing.T) {
			s := seeded(t)
			defer s.Verify(t)
			s.Granted(t, "J", "K", ttl(60))
			if c.accepted {
				s.Report(t, "J", "K", apptest.Accepted("task"))
			}
			s.TurnClock(5 * time.Minute)
			is(t, "extended", s.Extend(t, "J", 1).GetReservation().GetOverdueSince() == nil, true)
			s.TurnClock(6 * time.Minute)
			wantNoPermit(t, s.Begin(t, apptest.Submission("J", "K2")), settlementv1.PermitRefusal_PERMIT_REFUSAL_UNRESOLVED)
			is(t, "overdue", s.Get(t, "J").GetOverdueSince() != nil, true)
			if c.accepted { // the provider has it: that it never did is no fact any more
				wantRefused(t, s.Report(t, "J", "K", apptest.NotAccepted(nil)), conflicting)
			}
			r := c.fact(s).GetReservation()
			wantEnd(t, r, c.kind)
			s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2})
		})
	}
}
