package cases_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// TestCase56EvidenceOnACheckChangesThatLineOnly proves things of a check while the generation is accepted.
func TestCase56EvidenceOnACheckChangesThatLineOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proof any
		known settlementv1.Knowledge
		spent int64
	}{
		"failed":       {apptest.FailedThere(apptest.Money(4)), lineFailed, 4},
		"not received": {apptest.NotReceived(), lineNotReceived, 0},
		"succeeded":    {apptest.CheckSucceeded(apptest.Money(4)), lineSucceeded, 4},
		"accepted":     {apptest.Running("check-task"), lineAccepted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := seeded(t)
			defer s.Verify(t)
			s.Granted(t, "J", "K", long)
			s.Permitted(t, apptest.Check("J", "C", apptest.Input))
			s.Report(t, "J", "K", apptest.Accepted("task"))
			s.TurnClock(10 * time.Minute)
			before, books := s.Get(t, "J"), s.Books(t)
			r := wantAnswer(t, s.Reconcile(t, "J", "C", c.proof), applied, processing)
			wantLine(t, r, "C", c.known)
			if diff := cmp.Diff(line(t, before, "K"), line(t, r, "K"), protocmp.Transform()); diff != "" {
				t.Errorf("the generation changed (-before +after):\n%s", diff)
			}
			books.Spent = c.spent
			s.WantBooks(t, books)
			wantAnswer(t, s.Reconcile(t, "J", "C", c.proof), replayed, processing)
			if r.GetRevision() != before.GetRevision()+1 || s.Get(t, "J").GetRevision() != r.GetRevision() {
				t.Errorf("revisions %d, %d, %d", before.GetRevision(), r.GetRevision(), s.Get(t, "J").GetRevision())
			}
		})
	}
}

// TestCase56SomeEvidenceIsOfGenerationsOnly tries it on a check.
func TestCase56SomeEvidenceIsOfGenerationsOnly(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "", long)
	s.Permitted(t, apptest.Check("J", "C", apptest.Input))
	s.TurnClock(10 * time.Minute)
	before := s.Copy(t)
	for _, proof := range []any{
		apptest.Resumed(60), apptest.GivenUp(), apptest.Succeeded(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_PASSED, nil),
	} {
		wantRefused(t, s.Reconcile(t, "J", "C", proof), settlementv1.RefusedReason_REFUSED_REASON_NOT_A_GENERATION)
	}
	s.Unchanged(t, before)
}

// TestCase57AWrongCostIsPutRightByAnOperator confirms that nothing was charged, completes with a cost, and has an operator apply it.
func TestCase57AWrongCostIsPutRightByAnOperator(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	wantAnswer(t, s.Reconcile(t, "J", "K", apptest.Free()), applied, processing)
	wantAnswer(t, s.Reconcile(t, "J", "K", apptest.Free()), replayed, processing)
	resp := s.Settle(t, "J", "K", apptest.Completed(apptest.Money(90)))
	r := wantAnswer(t, resp, applied, completed)
	is(t, "captured", r.GetCredit().GetCaptured(), 10)
	is(t, "cost on record", line(t, r, "K").GetCost().GetAmountMicros(), 0)
	s.WantExceptions(t, "J", apptest.Exception{Key: "K", Reason: "COST_CONFLICT", Cost: 90, Count: 1})
	s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2})
	wantRefused(t, s.Reconcile(t, "J", "K", apptest.Costs(90)), settlementv1.RefusedReason_REFUSED_REASON_COST_CONFLICT)
	s.WantExceptions(t, "J", apptest.Exception{Key: "K", Reason: "COST_CONFLICT", Cost: 90, Count: 2})

	apply := &settlementv1.ResolveExceptionRequest{
		TenantId: apptest.Tenant, ExceptionId: resp.GetExceptions()[0].GetExceptionId(),
		Resolution: &settlementv1.ResolveExceptionRequest_Apply{Apply: &settlementv1.ApplyResolution{Reason: "the invoice says so"}},
	}
	for i := range 2 {
		resolved := must(s.Reconciliation.ResolveException(t.Context(), apply))(t)
		is(t, "refused", resolved.GetRefused(), 0)
		is(t, "replayed", resolved.GetReplayed(), i == 1)
		is(t, "resolution", resolved.GetException().GetResolution(), settlementv1.ExceptionResolution_EXCEPTION_RESOLUTION_APPLIED)
		l := line(t, resolved.GetReservation(), "K")
		is(t, "cost on record and adjustment", [2]int64{l.GetCost().GetAmountMicros(), l.GetCostAdjustmentMicros()}, [2]int64{0, 90})
		s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, Spent: 90})
		is(t, "adjusting entries", s.Entries(t, "J", "ADJUSTED"), 1)
	}
	dismiss := clone(apply)
	dismiss.Resolution = &settlementv1.ResolveExceptionRequest_Dismiss{Dismiss: &settlementv1.DismissResolution{Reason: "no"}}
	is(t, "the other way", must(s.Reconciliation.ResolveException(t.Context(), dismiss))(t).GetRefused(),
		settlementv1.ResolveRefusal_RESOLVE_REFUSAL_ALREADY_RESOLVED)
	s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, Spent: 90})
}

// TestCase57ACostInAnotherCurrencyStopsNothing completes with a cost that cannot be the provider's.
func TestCase57ACostInAnotherCurrencyStopsNothing(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	euros := &settlementv1.Money{AmountMicros: 90, Currency: "EUR"}
	resp := s.Settle(t, "J", "K", apptest.Completed(euros))
	r := wantAnswer(t, resp, applied, completed)
	if line(t, r, "K").GetCost() != nil {
		t.Errorf("the cost is on record: %v", line(t, r, "K"))
	}
	s.WantExceptions(t, "J", apptest.Exception{Key: "K", Reason: "CURRENCY_MISMATCH", Cost: 90, Count: 1})
	wantRefused(t, s.Reconcile(t, "J", "K", &settlementv1.CostConfirmedEvidence{Cost: euros}), settlementv1.RefusedReason_REFUSED_REASON_CURRENCY_MISMATCH)
	apply := &settlementv1.ResolveExceptionRequest{
		TenantId: apptest.Tenant, ExceptionId: resp.GetExceptions()[0].GetExceptionId(),
		Resolution: &settlementv1.ResolveExceptionRequest_Apply{Apply: &settlementv1.ApplyResolution{Reason: "the invoice says so"}},
	}
	is(t, "applied", must(s.Reconciliation.ResolveException(t.Context(), apply))(t).GetRefused(), settlementv1.ResolveRefusal_RESOLVE_REFUSAL_NOTHING_TO_APPLY)
	s.WantBooks(t, apptest.Books{Credits: 90, Attempts: 2, BudgetHeld: 200})
}

// TestCase58UncheckedOutputNeverOpens learns of a success after the job has ended otherwise, by every door.
func TestCase58UncheckedOutputNeverOpens(t *testing.T) {
	t.Parallel()
	passed := settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_PASSED
	doors := []func(*apptest.Service) answer{
		func(s *apptest.Service) answer { return s.Settle(t, "J", "K", apptest.Completed(apptest.Money(90))) },
		func(s *apptest.Service) answer { return s.Report(t, "J", "K", apptest.EndedWell(apptest.Money(90))) },
		func(s *apptest.Service) answer {
			return s.Reconcile(t, "J", "K", apptest.Succeeded(passed, apptest.Money(90)))
		},
	}
	for name, c := range map[string]struct {
		end   func(*apptest.Service)
		kind  settlementv1.OutcomeKind
		alive bool // the line was unresolved: the success is what is known of it now
	}{
		"given up": {func(s *apptest.Service) { s.Reconcile(t, "J", "K", apptest.GivenUp()) }, endGivenUp, true},
		"cancelled, then given up": {func(s *apptest.Service) {
			s.Settle(t, "J", "", apptest.Cancelled())
			s.Reconcile(t, "J", "K", apptest.GivenUp())
		}, endCancelled, true},
		"cancelled": {func(s *apptest.Service) { s.Settle(t, "J", "", apptest.Cancelled(), apptest.NotSent("K")) }, endCancelled, false},
		"expired": {func(s *apptest.Service) {
			s.Report(t, "J", "K", apptest.NotAccepted(nil))
			passDeadline(t, s, "J")
			s.Extend(t, "J", 60)
		}, endExpired, false},
		"no output check": {func(s *apptest.Service) { s.Settle(t, "J", "K", apptest.Unavailable(apptest.Output)) }, endUnavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := seeded(t)
			defer s.Verify(t)
			s.Granted(t, "J", "K", long)
			s.TurnClock(5 * time.Minute)
			c.end(s)
			wantEnd(t, s.Get(t, "J"), c.kind)
			for _, door := range doors {
				r := door(s).GetReservation()
				wantEnd(t, r, c.kind)
				is(t, "captured", r.GetCredit().GetCaptured(), 0)
				if c.alive {
					wantLine(t, r, "K", lineSucceeded)
					is(t, "output", r.GetOutput(), settlementv1.Output_OUTPUT_WITHHELD)
				} else if r.GetOutput() == settlementv1.Output_OUTPUT_RELEASABLE {
					t.Error("the output opens")
				}
			}
			is(t, "exceptions", len(s.Exceptions(t, "J")) > 0, true)
			is(t, "credits", s.Books(t).Credits, 100)
		})
	}
}
