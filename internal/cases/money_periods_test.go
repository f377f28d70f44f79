package cases_test

import (
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// berlin is the moment in Berlin's summer time.
func berlin(month time.Month, day, hour, minute, second int) time.Time {
	return time.Date(2026, month, day, hour, minute, second, 0, time.FixedZone("CEST", 2*60*60))
}

// budgetOf reads the budget of the period that starts at the moment.
func budgetOf(t *testing.T, s *apptest.Service, start time.Time) *settlementv1.Budget {
	t.Helper()
	return must(s.Accounts.GetBudget(t.Context(), &settlementv1.GetBudgetRequest{
		TenantId: apptest.Tenant, ProviderId: apptest.Provider, PeriodStart: timestamppb.New(start),
	}))(t).GetBudget()
}

func wantBudget(t *testing.T, s *apptest.Service, start time.Time, held, spent int64) {
	t.Helper()
	b := budgetOf(t, s, start)
	is(t, "held since "+start.String(), b.GetHeldMicros(), held)
	is(t, "spent since "+start.String(), b.GetSpentMicros(), spent)
}

// TestCase15AHoldReturnsToTheMonthThatItWasTakenFrom holds and settles around midnight in Berlin, which is not midnight in UTC.
func TestCase15AHoldReturnsToTheMonthThatItWasTakenFrom(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	defer s.Verify(t)
	april, may, june := berlin(time.April, 1, 0, 0, 0), berlin(time.May, 1, 0, 0, 0), berlin(time.June, 1, 0, 0, 0)
	s.StopClock(berlin(time.April, 30, 23, 59, 50))
	s.Seed(t, func(r *settlementv1.PutProviderRequest) {
		r.BudgetPeriod, r.TimeZone, r.BudgetLimitMicros = settlementv1.BudgetPeriod_BUDGET_PERIOD_MONTH, "Europe/Berlin", 100
	})
	first := s.Granted(t, "first", "K1", micros(60)).GetReservation()
	is(t, "period", first.GetBudget().GetPeriodStart().AsTime(), april.UTC())
	s.Granted(t, "idle", "", micros(30), ttl(60))
	resp, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("more", "", micros(60)))
	d := denial(t, resp, err, settlementv1.DenialReason_DENIAL_REASON_BUDGET_EXHAUSTED)
	is(t, "available in April", d.GetAvailable(), 10)

	s.StopClock(may)
	second := s.Granted(t, "more", "K2", micros(60)).GetReservation()
	is(t, "period", second.GetBudget().GetPeriodStart().AsTime(), may.UTC())
	wantBudget(t, s, april, 90, 0)
	wantBudget(t, s, may, 60, 0)

	wantAnswer(t, s.Settle(t, "first", "K1", apptest.Completed(apptest.Money(50))), applied, completed)
	wantBudget(t, s, april, 30, 50)
	wantBudget(t, s, may, 60, 0)
	s.StopClock(may.Add(2 * time.Minute))
	s.Extend(t, "idle", 60)
	wantEnd(t, s.Get(t, "idle"), endExpired)
	wantBudget(t, s, april, 0, 50)
	wantBudget(t, s, may, 60, 0)

	s.StopClock(june)
	other := apptest.On(t, s.DB)
	rollAtOnce(t, s, other)
	wantBudget(t, s, june, 90, 0)
	wantBudget(t, s, may, 60, 0)
	wantAnswer(t, s.Settle(t, "more", "K2", apptest.Failed(apptest.Money(1))), applied, failed)
	wantBudget(t, s, may, 0, 1)
}

// rollAtOnce has two replicas make the first reservation of a month at once: together they ask for more than there is.
func rollAtOnce(t *testing.T, servers ...*apptest.Service) {
	t.Helper()
	var calls sync.WaitGroup
	granted := make([]bool, 4)
	for i := range granted {
		calls.Go(func() {
			resp, err := servers[i%len(servers)].Reservations.Reserve(t.Context(), apptest.Reserve("roll-"+string(rune('a'+i)), "", micros(45)))
			if err != nil {
				t.Error(err)
			}
			granted[i] = resp.GetGranted() != nil
		})
	}
	calls.Wait()
	n := 0
	for _, g := range granted {
		if g {
			n++
		}
	}
	is(t, "granted of 45 micros each out of 100", n, 2)
}

// TestCase15DaysFollowTheTimeZoneThroughTheChangeOfClocks holds on the day that has 23 hours, and on the next.
func TestCase15DaysFollowTheTimeZoneThroughTheChangeOfClocks(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	defer s.Verify(t)
	winter := time.FixedZone("CET", 60*60)
	short := time.Date(2026, time.March, 29, 0, 0, 0, 0, winter)
	s.StopClock(short)
	s.Seed(t, func(r *settlementv1.PutProviderRequest) {
		r.BudgetPeriod, r.TimeZone = settlementv1.BudgetPeriod_BUDGET_PERIOD_DAY, "Europe/Berlin"
	})
	for _, c := range []struct {
		id        string
		at, start time.Time
	}{
		{"midnight", short, short},
		{"last-second", berlin(time.March, 29, 23, 59, 59), short},
		{"next", berlin(time.March, 30, 0, 0, 0), short.Add(23 * time.Hour)},
	} {
		s.StopClock(c.at)
		got := s.Granted(t, c.id, "").GetReservation().GetBudget().GetPeriodStart().AsTime()
		is(t, "period of "+c.id, got, c.start.UTC())
	}
	wantBudget(t, s, short, 400, 0)
	wantBudget(t, s, short.Add(23*time.Hour), 200, 0)
}

// TestCase15ANewLimitIsOfTheCurrentPeriodOnly sets a limit, and looks at the next period's, which is the provider's own.
func TestCase15ANewLimitIsOfTheCurrentPeriodOnly(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	defer s.Verify(t)
	s.StopClock(berlin(time.May, 3, 12, 0, 0))
	s.Seed(t, func(r *settlementv1.PutProviderRequest) {
		r.BudgetPeriod, r.TimeZone = settlementv1.BudgetPeriod_BUDGET_PERIOD_MONTH, "Europe/Berlin"
	})
	s.Granted(t, "J1", "K1")
	must(s.Accounts.PutBudget(t.Context(), &settlementv1.PutBudgetRequest{
		TenantId: apptest.Tenant, ProviderId: apptest.Provider, LimitMicros: 200,
	}))(t)
	resp, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("J2", "", micros(1)))
	denial(t, resp, err, settlementv1.DenialReason_DENIAL_REASON_BUDGET_EXHAUSTED)
	s.StopClock(berlin(time.June, 1, 0, 0, 0))
	s.Granted(t, "J2", "", micros(1000))
	is(t, "limit of June", budgetOf(t, s, berlin(time.June, 1, 0, 0, 0)).GetLimitMicros(), 1000)
	is(t, "limit of May", budgetOf(t, s, berlin(time.May, 1, 0, 0, 0)).GetLimitMicros(), 200)
}
