package cases_test

import (
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// A ledger that was restored from a backup does not know what became of a request that a worker reports: perhaps it was sent again.

// TestCase52ARefusalOfAForgottenRequestPermitsNoOther sends the same refusal of a request that the ledger has forgotten, twice.
func TestCase52ARefusalOfAForgottenRequestPermitsNoOther(t *testing.T) {
	t.Parallel()
	s := seeded(t, keysKnownFor(600))
	defer s.Verify(t)
	s.Granted(t, "J", "", ttl(3600))
	wantAnswer(t, s.Report(t, "J", "K1", apptest.NotAccepted(nil)), applied, uncertain)
	again := s.Report(t, "J", "K1", apptest.NotAccepted(nil))
	wantRefused(t, again, conflicting)
	wantLine(t, again.GetReservation(), "K1", lineUncertain)
	if b := s.Begin(t, apptest.Submission("J", "K2")); b.GetRefused() != settlementv1.PermitRefusal_PERMIT_REFUSAL_UNRESOLVED {
		t.Errorf("another key: %v", b)
	}
	s.TurnClock(time.Hour)
	wantAnswer(t, s.Reconcile(t, "J", "K1", apptest.NotReceived()), applied, failed)
}

// TestCase52AForgottenKeyIsResentOnlyWhileItsProviderKnowsIt brings a key back late: the provider counts from when it was sent.
func TestCase52AForgottenKeyIsResentOnlyWhileItsProviderKnowsIt(t *testing.T) {
	t.Parallel()
	s := seeded(t, keysKnownFor(60))
	defer s.Verify(t)
	s.Granted(t, "J", "", ttl(3600))
	s.TurnClock(50 * time.Second)
	s.Report(t, "J", "K1", apptest.Unsure())
	s.TurnClock(58 * time.Second)
	s.Permitted(t, apptest.Resend("J", "K1"))
	s.TurnClock(100 * time.Second)
	if b := s.Begin(t, apptest.Resend("J", "K1")); b.GetAlreadyGranted() == nil {
		t.Errorf("after the provider has forgotten the key: %v", b)
	}
}

// keysKnownFor has the provider take idempotency keys, and forget them after so many seconds.
func keysKnownFor(seconds int64) func(*settlementv1.PutProviderRequest) {
	return func(r *settlementv1.PutProviderRequest) { r.IdempotencyKeySeconds = seconds }
}
