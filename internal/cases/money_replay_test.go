package cases_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// fullReserve is a request that says something in every field.
func fullReserve() *settlementv1.ReserveRequest {
	return apptest.Reserve("J", "K", long, func(r *settlementv1.ReserveRequest) {
		r.Labels = map[string]string{"team": "red", "order": "7", "city": "Z\u00fcrich"}
	})
}

// otherwise changes one field of a request into something else that is valid.
func otherwise(t *testing.T, m *settlementv1.ReserveRequest, field protoreflect.FieldDescriptor) {
	t.Helper()
	r := m.ProtoReflect()
	switch {
	case field.Name() == "currency":
		m.Currency = "EUR"
	case field.Name() == "funding":
		freeAttempt(m)
	case field.Name() == "submission":
		m.Submission.RequestKey += "x"
	case field.IsMap():
		m.Labels["team"] = "blue"
	case field.Kind() == protoreflect.StringKind:
		r.Set(field, protoreflect.ValueOfString(r.Get(field).String()+"x"))
	case field.Kind() == protoreflect.Int64Kind:
		r.Set(field, protoreflect.ValueOfInt64(r.Get(field).Int()+1))
	default:
		t.Fatalf("field %s is new: say here how to change it", field.Name())
	}
}

// variants are requests that differ from the full one in one field each, named by the field. Every field is in it, changed and absent where
// it can be, but those that make the identity and the secret of the call.
func variants(t *testing.T) map[string][]*settlementv1.ReserveRequest {
	t.Helper()
	vs := map[string][]*settlementv1.ReserveRequest{}
	fields := fullReserve().ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		name := string(field.Name())
		if name == "tenant_id" || name == "reservation_id" {
			continue
		}
		changed := fullReserve()
		otherwise(t, changed, field)
		if name == "submission" { // one that is there and names another key
			vs["submission.request_key"] = append(vs["submission.request_key"], changed)
		} else {
			vs[name] = append(vs[name], changed)
		}
		if name == "ttl_seconds" || name == "submission" || name == "labels" {
			absent := fullReserve()
			absent.ProtoReflect().Clear(field)
			vs[name] = append(vs[name], absent)
		}
	}
	for _, change := range []func(*settlementv1.ReserveRequest){credits(11), attemptOr(10), micros(0)} {
		changed := fullReserve()
		change(changed)
		name := "funding"
		if changed.GetBudgetMicros() == 0 {
			name = "budget_micros"
		}
		vs[name] = append(vs[name], changed)
	}
	labelled := fullReserve()
	labelled.Labels["more"] = ""
	spelt := fullReserve()
	spelt.Labels["city"] = "Zu\u0308rich" // looks the same
	vs["labels"] = append(vs["labels"], labelled, spelt)
	return vs
}

// TestCase03EveryFieldOfReserveIsItsContent changes each field in turn, while the reservation is open, when it has ended and after a restart.
func TestCase03EveryFieldOfReserveIsItsContent(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	if reserve(t, s, fullReserve()).GetGranted() == nil {
		t.Fatal("denied")
	}
	check := func(when string) {
		before := s.Copy(t)
		for field, requests := range variants(t) {
			for _, req := range requests {
				_, err := s.Reservations.Reserve(t.Context(), req)
				wantStatus(t, err, codes.AlreadyExists, field)
			}
		}
		other := fullReserve()
		other.Submission.PermitToken = "another"
		if got := reserve(t, s, other).GetGranted(); !got.GetReplayed() || got.GetPermit() != nil {
			t.Errorf("%s, another token: %v, want a replay without a permit", when, got)
		}
		s.Unchanged(t, before)
	}
	check("open")
	s.Settle(t, "J", "K", apptest.Completed(apptest.Money(7)))
	check("ended")
	s.Stop()
	s = apptest.On(t, s.DB)
	check("after a restart")
}

// present are the fields of a reservation that tell the present. All the others were granted, and stay.
var present = protocmp.IgnoreFields(&settlementv1.Reservation{}, "state", "revision", "deadline", "deadline_max", "overdue_since",
	"cancel_requested_at", "cancel_reason", "outcome", "output", "slot", "lines", "updated_at")

// holds are the fields of a hold that tell the present.
var holds = []cmp.Option{
	protocmp.IgnoreFields(&settlementv1.CreditHold{}, "state", "captured", "returned"),
	protocmp.IgnoreFields(&settlementv1.BudgetHold{}, "state", "known_cost_micros", "unresolved"),
}

// wantGrant compares what a replay of Reserve says was granted with what the first answer said.
func wantGrant(t *testing.T, first, again *settlementv1.Granted) {
	t.Helper()
	if !again.GetReplayed() {
		t.Errorf("not a replay: %v", again)
	}
	options := append([]cmp.Option{protocmp.Transform(), present}, holds...)
	if diff := cmp.Diff(first.GetReservation(), again.GetReservation(), options...); diff != "" {
		t.Errorf("the grant of a replay (-first +replay):\n%s", diff)
	}
}

// wantOutcome compares the outcome of a replay with that of the first answer.
func wantOutcome(t *testing.T, first, again *settlementv1.Reservation) {
	t.Helper()
	if diff := cmp.Diff(first.GetOutcome(), again.GetOutcome(), protocmp.Transform()); diff != "" {
		t.Errorf("the outcome of a replay (-first +replay):\n%s", diff)
	}
	if diff := cmp.Diff(first.GetCredit(), again.GetCredit(), protocmp.Transform()); diff != "" {
		t.Errorf("the credit of a replay (-first +replay):\n%s", diff)
	}
}

// TestCase05ReplaysEqualTheFirstAnswer asks again at once, in each later state, after a restart, and ten years later.
func TestCase05ReplaysEqualTheFirstAnswer(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	first := reserve(t, s, fullReserve()).GetGranted()
	again := reserve(t, s, fullReserve()).GetGranted()
	if diff := cmp.Diff(first.GetReservation(), again.GetReservation(), protocmp.Transform()); diff != "" {
		t.Errorf("a replay at once (-first +replay):\n%s", diff)
	}
	if first.GetPermit() == nil || again.GetPermit().GetKind() != settlementv1.PermitKind_PERMIT_KIND_GRANTED {
		t.Errorf("permits %v and %v", first.GetPermit(), again.GetPermit())
	}
	s.Report(t, "J", "K", apptest.Accepted("task"))
	wantGrant(t, first, reserve(t, s, fullReserve()).GetGranted())

	settle := apptest.Settlement("J", "K", apptest.Charged(7, apptest.Money(150)))
	settled := wantAnswer(t, must(s.Settlements.Settle(t.Context(), settle))(t), applied, completed)
	s.Stop()
	s = apptest.On(t, s.DB)
	before := s.Copy(t)
	for _, years := range []int{0, 10} {
		s.TurnClock(time.Duration(years) * 365 * 24 * time.Hour)
		replay := reserve(t, s, fullReserve()).GetGranted()
		wantGrant(t, first, replay)
		wantOutcome(t, settled, replay.GetReservation())
		is(t, "permit of a replay", replay.GetPermit(), nil)
		resettled := wantAnswer(t, must(s.Settlements.Settle(t.Context(), settle))(t), replayed, completed)
		if diff := cmp.Diff(settled, resettled, protocmp.Transform()); diff != "" {
			t.Errorf("a replayed outcome after %d years (-first +replay):\n%s", years, diff)
		}
	}
	s.Unchanged(t, before)
}

// TestCase05NothingHasASecondEffectLongAfter replays every call of a job's life ten years later, whatever the job ended with.
func TestCase05NothingHasASecondEffectLongAfter(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	calls := []proto.Message{
		apptest.Reserve("J", "K1"), apptest.Report("J", "K1", apptest.NotAccepted(apptest.Money(3))),
		apptest.Check("J", "C1", apptest.Input), apptest.Report("J", "C1", apptest.EndedWell(apptest.Money(1))),
		apptest.Submission("J", "K2"), apptest.Report("J", "K2", apptest.Accepted("task")),
		apptest.Settlement("J", "K2", apptest.Failed(nil)), apptest.Proof("J", "K2", apptest.Costs(20)),
		&settlementv1.GrantCreditsRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: "late", Credits: 9},
	}
	for _, c := range calls {
		send(t, s, c)
	}
	want := apptest.Books{Credits: 109, Attempts: 2, Spent: 24}
	s.WantBooks(t, want)
	s.TurnClock(10 * 365 * 24 * time.Hour)
	before := s.Copy(t)
	for range 2 {
		for _, c := range calls {
			switch resp := send(t, s, c).(type) {
			case answer:
				is(t, "disposition of a late replay", resp.GetDisposition(), replayed)
			case *settlementv1.ReserveResponse:
				is(t, "replayed", resp.GetGranted().GetReplayed(), true)
			case *settlementv1.GrantCreditsResponse:
				is(t, "replayed", resp.GetReplayed(), true)
			case *settlementv1.BeginSubmissionResponse:
				if resp.GetAlreadyGranted() == nil {
					t.Errorf("a late replay got %v", resp)
				}
			}
		}
	}
	s.Unchanged(t, before)
}

// TestCase05AnOpenJobReplayedLongAfterIsExpired has expiry happen in the replay itself: nobody called in between, and no sweep came.
func TestCase05AnOpenJobReplayedLongAfterIsExpired(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	first := s.Granted(t, "J", "")
	s.TurnClock(10 * 365 * 24 * time.Hour)
	again := reserve(t, s, apptest.Reserve("J", "")).GetGranted()
	wantGrant(t, first, again)
	is(t, "state", again.GetReservation().GetState(), expired)
	before := s.Copy(t)
	last := reserve(t, s, apptest.Reserve("J", "")).GetGranted()
	wantOutcome(t, again.GetReservation(), last.GetReservation())
	s.Unchanged(t, before)
	s.WantBooks(t, apptest.Books{Credits: 100, Attempts: 2})
}

// TestCase05ReplaysDoNotDependOnTheServersSettings restarts the server with other defaults between a call and its replay.
func TestCase05ReplaysDoNotDependOnTheServersSettings(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	first, second := s.Granted(t, "J1", "K1"), s.Granted(t, "J2", "K2", long)
	s.Stop()
	s = apptest.On(t, s.DB, func(c *app.Config) { c.DefaultTTL, c.MaxAge = time.Minute, time.Hour })
	before := s.Copy(t)
	wantGrant(t, first, reserve(t, s, apptest.Reserve("J1", "K1")).GetGranted())
	wantGrant(t, second, reserve(t, s, apptest.Reserve("J2", "K2", ttl(86_400))).GetGranted())
	_, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("J1", "K1", ttl(900))) // what the default was, now said
	wantStatus(t, err, codes.AlreadyExists, "ttl_seconds")
	s.Unchanged(t, before)
}
