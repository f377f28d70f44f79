package cases_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// permutations are all orders of n things.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			order := append(append(append([]int{}, p[:i]...), n-1), p[i:]...)
			all = append(all, order)
		}
	}
	return all
}

// TestCase22TheFirstEndStandsInEveryOrder delivers running, failed and succeeded in every order, by both doors, with the clock standing still.
func TestCase22TheFirstEndStandsInEveryOrder(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.BudgetLimitMicros = 100_000 })
	defer s.Verify(t)
	manySlots(t, s)
	s.StopClock(time.Now())
	type fact struct {
		end settlementv1.ReservationState // or none
		do  func(id, key string) answer
	}
	passed := settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_PASSED
	doors := map[string][]fact{
		"settled": {
			{0, func(id, key string) answer { return s.Report(t, id, key, apptest.Accepted("task-"+id)) }},
			{failed, func(id, key string) answer { return s.Settle(t, id, key, apptest.Failed(apptest.Money(1))) }},
			{completed, func(id, key string) answer { return s.Settle(t, id, key, apptest.Completed(apptest.Money(2))) }},
		},
		"proven": {
			{0, func(id, key string) answer { return s.Reconcile(t, id, key, apptest.Running("task-"+id)) }},
			{failed, func(id, key string) answer { return s.Reconcile(t, id, key, apptest.FailedThere(apptest.Money(1))) }},
			{completed, func(id, key string) answer {
				return s.Reconcile(t, id, key, apptest.Succeeded(passed, apptest.Money(2)))
			}},
		},
	}
	for door, facts := range doors {
		for _, order := range permutations(len(facts)) {
			id := fmt.Sprintf("%s-%d-%d-%d", door, order[0], order[1], order[2])
			s.Granted(t, id, "K-"+id)
			var first *settlementv1.Reservation
			for _, n := range order {
				got := facts[n].do(id, "K-"+id).GetReservation()
				switch {
				case first != nil:
					wantSameEnd(t, first, got)
				case facts[n].end != 0:
					first = got
					is(t, id+" state", got.GetState(), facts[n].end)
				default:
					is(t, id+" state", got.GetState(), processing)
				}
			}
		}
	}
}

// wantSameEnd compares everything of the end of a reservation that may never change.
func wantSameEnd(t *testing.T, first, got *settlementv1.Reservation) {
	t.Helper()
	later := protocmp.IgnoreFields(&settlementv1.Reservation{}, "revision", "lines", "updated_at")
	if diff := cmp.Diff(first, got, protocmp.Transform(), later, protocmp.IgnoreFields(&settlementv1.BudgetHold{}, "state", "known_cost_micros", "unresolved")); diff != "" {
		t.Errorf("the end of %s changed (-first +later):\n%s", first.GetReservationId(), diff)
	}
}

// TestCase23AnExpiredJobGivesItsSlotAwayOnce has one slot change hands, and the first job settle late.
func TestCase23AnExpiredJobGivesItsSlotAwayOnce(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	slots(t, s, 1)
	s.Granted(t, "J1", "K1", ttl(60))
	s.Report(t, "J1", "K1", apptest.NotAccepted(apptest.Money(0)))
	s.TurnClock(time.Minute)
	s.Extend(t, "J1", 60)
	wantEnd(t, s.Get(t, "J1"), endExpired)
	s.Granted(t, "J2", "K2")
	wantAnswer(t, s.Settle(t, "J1", "K1", apptest.Failed(nil)), superseded, expired)
	wantAnswer(t, s.Settle(t, "J1", "", apptest.Cancelled()), superseded, expired)
	resp, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("J3", ""))
	is(t, "available", denial(t, resp, err, settlementv1.DenialReason_DENIAL_REASON_SLOTS_EXHAUSTED).GetAvailable(), 0)
	s.WantBooks(t, apptest.Books{Credits: 90, CreditsHeld: 10, Attempts: 2, Slots: 1, InFlight: 1, BudgetHeld: 200})
}

// TestCase23ALoweredLimitDeniesUntilDrained lowers the slots, and the provider's cap, below what is held.
func TestCase23ALoweredLimitDeniesUntilDrained(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	for i := range 3 {
		s.Granted(t, fmt.Sprint("J", i), fmt.Sprint("K", i))
	}
	slots(t, s, 1)
	s.PutProvider(t, func(r *settlementv1.PutProviderRequest) { r.MaxInFlight = 1 })
	for i := range 3 {
		resp := reserve(t, s, apptest.Reserve("more", "", micros(0)))
		for _, d := range resp.GetDenied().GetDenials() {
			is(t, "available of "+d.GetReason().String(), d.GetAvailable(), int64(i-2))
		}
		is(t, "denials", len(resp.GetDenied().GetDenials()), 2)
		s.Settle(t, fmt.Sprint("J", i), fmt.Sprint("K", i), apptest.Failed(apptest.Money(0)))
	}
	s.Granted(t, "more", "", micros(0))
}

// slots sets the account's slot limit.
func slots(t *testing.T, s *apptest.Service, n int64) {
	t.Helper()
	must(s.Accounts.PutAccount(t.Context(), &settlementv1.PutAccountRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: n}))(t)
}

// TestCase24TheLastOneIsTakenOnce has 200 calls through two servers ask for the last credit, attempt, slot, place and micro at once.
func TestCase24TheLastOneIsTakenOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seed   func(*apptest.Service)
		ask    func(*settlementv1.ReserveRequest)
		reason settlementv1.DenialReason
	}{
		"credit": {func(s *apptest.Service) { s.Granted(t, "before", "", credits(99), micros(0)) }, credits(1),
			settlementv1.DenialReason_DENIAL_REASON_INSUFFICIENT_CREDITS},
		"free attempt": {func(s *apptest.Service) { s.Granted(t, "before", "", freeAttempt, micros(0)) }, freeAttempt,
			settlementv1.DenialReason_DENIAL_REASON_NO_FREE_ATTEMPT},
		"slot": {func(s *apptest.Service) { slots(t, s, 1) }, credits(0), settlementv1.DenialReason_DENIAL_REASON_SLOTS_EXHAUSTED},
		"place": {func(s *apptest.Service) {
			s.PutProvider(t, func(r *settlementv1.PutProviderRequest) { r.MaxInFlight = 1 })
		}, credits(0), settlementv1.DenialReason_DENIAL_REASON_PROVIDER_BUSY},
		"budget": {func(s *apptest.Service) { s.Granted(t, "before", "", credits(0), micros(999)) }, credits(0),
			settlementv1.DenialReason_DENIAL_REASON_BUDGET_EXHAUSTED},
	} {
		t.Run(name, func(t *testing.T) {
			s := seeded(t)
			defer s.Verify(t)
			slots(t, s, 1000)
			c.seed(s)
			before := s.Books(t)
			winner := race(t, s, c.ask, c.reason)
			credit := s.Get(t, winner).GetCredit()
			before.Slots++
			before.InFlight++
			before.BudgetHeld++
			if credit.GetTakenUnit() == settlementv1.Unit_UNIT_FREE_ATTEMPTS {
				before.Attempts--
				before.AttemptsHeld++
			} else {
				before.Credits -= credit.GetTaken()
				before.CreditsHeld += credit.GetTaken()
			}
			s.WantBooks(t, before)
		})
	}
}

// race asks 200 times at once, each for a reservation of its own and one micro of budget, and returns the one that was granted. All the others
// must have been denied for the one reason.
func race(t *testing.T, s *apptest.Service, ask func(*settlementv1.ReserveRequest), reason settlementv1.DenialReason) string {
	t.Helper()
	servers := []*apptest.Service{s, apptest.On(t, s.DB)}
	responses := make([]*settlementv1.ReserveResponse, 200)
	var calls sync.WaitGroup
	for i := range responses {
		calls.Go(func() {
			var err error
			responses[i], err = servers[i%2].Reservations.Reserve(t.Context(), apptest.Reserve(fmt.Sprint("J", i), "", micros(1), ask))
			if err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	winner := ""
	for i, resp := range responses {
		denials := resp.GetDenied().GetDenials()
		switch {
		case resp.GetGranted() != nil && winner == "":
			winner = fmt.Sprint("J", i)
		case resp.GetGranted() != nil:
			t.Errorf("%s and J%d were granted", winner, i)
		case len(denials) != 1 || denials[0].GetReason() != reason:
			t.Errorf("J%d: %v", i, resp)
		}
	}
	return winner
}
