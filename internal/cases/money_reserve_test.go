package cases_test

import (
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// TestCase02TheSameCallIsGrantedAfterATopUp takes each resource away in turn, is denied for just that, and is granted once it is there.
func TestCase02TheSameCallIsGrantedAfterATopUp(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.BudgetLimitMicros = 10_000 })
	defer s.Verify(t)
	account := func(limit int64, suspended bool) {
		if _, err := s.Accounts.PutAccount(t.Context(), &settlementv1.PutAccountRequest{
			TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: limit, Suspended: suspended,
		}); err != nil {
			t.Fatal(err)
		}
	}
	budget := func(limit int64) {
		if _, err := s.Accounts.PutBudget(t.Context(), &settlementv1.PutBudgetRequest{
			TenantId: apptest.Tenant, ProviderId: apptest.Provider, LimitMicros: limit,
		}); err != nil {
			t.Fatal(err)
		}
	}
	enabled := func(on bool) {
		s.PutProvider(t, func(r *settlementv1.PutProviderRequest) { r.Enabled = on })
	}
	for _, c := range []struct {
		reason           settlementv1.DenialReason
		ask              func(*settlementv1.ReserveRequest)
		take, give       func()
		asked, available int64
	}{
		{settlementv1.DenialReason_DENIAL_REASON_INSUFFICIENT_CREDITS, credits(105), func() {}, func() { grantCredits(t, s, 5) }, 105, 100},
		{settlementv1.DenialReason_DENIAL_REASON_NO_FREE_ATTEMPT, freeAttempt, func() { useAttempts(t, s) }, func() { grantAttempts(t, s, 1) }, 1, 0},
		{settlementv1.DenialReason_DENIAL_REASON_SLOTS_EXHAUSTED, credits(0), func() { account(0, false) }, func() { account(50, false) }, 1, -4},
		{settlementv1.DenialReason_DENIAL_REASON_ACCOUNT_SUSPENDED, credits(0), func() { account(50, true) }, func() { account(50, false) }, 0, 0},
		{settlementv1.DenialReason_DENIAL_REASON_PROVIDER_DISABLED, credits(0), func() { enabled(false) }, func() { enabled(true) }, 0, 0},
		{settlementv1.DenialReason_DENIAL_REASON_BUDGET_EXHAUSTED, credits(0), func() { budget(100) }, func() { budget(10_000) }, 200, 100 - 7*200},
	} {
		req := apptest.Reserve("J-"+c.reason.String(), "", c.ask)
		c.take()
		before := s.Copy(t)
		resp, err := s.Reservations.Reserve(t.Context(), req)
		d := denial(t, resp, err, c.reason)
		is(t, "asked", d.GetAsked(), c.asked)
		is(t, "available", d.GetAvailable(), c.available)
		s.Unchanged(t, before)
		c.give()
		if got := reserve(t, s, req).GetGranted(); got == nil || got.GetReplayed() {
			t.Errorf("%v: the same call after that: %v", c.reason, got)
		}
	}
}

// TestCase02ABusyProviderTellsHowManyAreUncertain is the sibling that ends when somebody else's job does.
func TestCase02ABusyProviderTellsHowManyAreUncertain(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.MaxInFlight = 2 })
	defer s.Verify(t)
	s.Granted(t, "J1", "K1")
	s.Granted(t, "J2", "K2")
	s.Settle(t, "J1", "K1", apptest.Uncertain())
	before := s.Copy(t)
	resp, err := s.Reservations.Reserve(t.Context(), apptest.Reserve("J3", "K3"))
	d := denial(t, resp, err, settlementv1.DenialReason_DENIAL_REASON_PROVIDER_BUSY)
	is(t, "uncertain", d.GetUncertain(), 1)
	is(t, "available", d.GetAvailable(), 0)
	s.Unchanged(t, before)
	s.Settle(t, "J2", "K2", apptest.Failed(nil))
	s.Granted(t, "J3", "K3")
}

// TestCase02ADenialListsEverythingThatLacks asks for more than there is of everything at once.
func TestCase02ADenialListsEverythingThatLacks(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.MaxInFlight, r.BudgetLimitMicros = 1, 250 })
	defer s.Verify(t)
	s.Granted(t, "J1", "K1")
	if _, err := s.Accounts.PutAccount(t.Context(), &settlementv1.PutAccountRequest{
		TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: 1, Suspended: true,
	}); err != nil {
		t.Fatal(err)
	}
	s.PutProvider(t, func(r *settlementv1.PutProviderRequest) { r.MaxInFlight, r.Enabled = 1, false })
	before := s.Copy(t)
	resp := reserve(t, s, apptest.Reserve("J2", "K1", credits(91)))
	var got []settlementv1.DenialReason
	for _, d := range resp.GetDenied().GetDenials() {
		got = append(got, d.GetReason())
	}
	is(t, "reasons", fmt.Sprint(got), fmt.Sprint([]settlementv1.DenialReason{
		settlementv1.DenialReason_DENIAL_REASON_ACCOUNT_SUSPENDED, settlementv1.DenialReason_DENIAL_REASON_PROVIDER_DISABLED,
		settlementv1.DenialReason_DENIAL_REASON_INSUFFICIENT_CREDITS, settlementv1.DenialReason_DENIAL_REASON_SLOTS_EXHAUSTED,
		settlementv1.DenialReason_DENIAL_REASON_PROVIDER_BUSY, settlementv1.DenialReason_DENIAL_REASON_BUDGET_EXHAUSTED,
		settlementv1.DenialReason_DENIAL_REASON_KEY_OF_ANOTHER_RESERVATION,
	}))
	s.Unchanged(t, before)
}

// TestCase03OneIdOneContentWhileTheFirstIsInFlight has two contents of one id race through two servers.
func TestCase03OneIdOneContentWhileTheFirstIsInFlight(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.BudgetLimitMicros = 100_000 })
	defer s.Verify(t)
	other := apptest.On(t, s.DB)
	manySlots(t, s)
	for i := range 10 {
		id := fmt.Sprintf("J%d", i)
		errs := make([]error, 2)
		var calls sync.WaitGroup
		for n, server := range []*apptest.Service{s, other} {
			calls.Go(func() {
				_, errs[n] = server.Reservations.Reserve(t.Context(), apptest.Reserve(id, "", credits(int64(5+n))))
			})
		}
		calls.Wait()
		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		if errs[winner] != nil {
			t.Fatalf("nobody won: %v and %v", errs[0], errs[1])
		}
		wantStatus(t, errs[1-winner], codes.AlreadyExists, "funding")
		is(t, "credits of the winner", s.Get(t, id).GetCredit().GetTaken(), int64(5+winner))
	}
}

// TestCase03AnotherContentIsRefusedInEveryState asks again for another amount in every state, before and after a restart.
func TestCase03AnotherContentIsRefusedInEveryState(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.BudgetLimitMicros = 100_000 })
	defer s.Verify(t)
	manySlots(t, s)
	states := reachAll(t, s)
	for round := range 2 {
		before := s.Copy(t)
		for id, state := range states {
			_, err := s.Reservations.Reserve(t.Context(), apptest.Reserve(id, "K-"+id, credits(6), long))
			wantStatus(t, err, codes.AlreadyExists, "funding")
			got := reserve(t, s, apptest.Reserve(id, "K-"+id, credits(5), long)).GetGranted()
			if !got.GetReplayed() || got.GetReservation().GetState() != state {
				t.Errorf("the same content in state %v: %v", state, got)
			}
		}
		s.Unchanged(t, before)
		if round == 0 {
			s.Stop()
			s = apptest.On(t, s.DB)
		}
	}
}

// TestCase03TheSameContentInOtherBytesIsAReplay sends fields that the server does not know, zeros that need no bytes, and labels in
// another order.
func TestCase03TheSameContentInOtherBytesIsAReplay(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	ask := func(raw []byte, labels map[string]string) *settlementv1.ReserveRequest {
		return apptest.Reserve("J", "", func(r *settlementv1.ReserveRequest) {
			r.BudgetMicros, r.Labels = 0, labels
			r.ProtoReflect().SetUnknown(raw)
		})
	}
	label := func(raw []byte, key, value string) []byte {
		entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), key)
		entry = protowire.AppendString(protowire.AppendTag(entry, 2, protowire.BytesType), value)
		return protowire.AppendBytes(protowire.AppendTag(raw, 10, protowire.BytesType), entry)
	}
	first := reserve(t, s, ask(nil, map[string]string{"a": "1", "b": "2"})).GetGranted()
	if first == nil {
		t.Fatal("denied")
	}
	before := s.Copy(t)
	for name, req := range map[string]*settlementv1.ReserveRequest{
		"labels in order":        ask(label(label(nil, "a", "1"), "b", "2"), nil),
		"labels in other order":  ask(label(label(nil, "b", "2"), "a", "1"), nil),
		"an unknown field":       ask(protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 7), map[string]string{"a": "1", "b": "2"}),
		"a zero that needs none": ask(protowire.AppendVarint(protowire.AppendTag(nil, 6, protowire.VarintType), 0), map[string]string{"a": "1", "b": "2"}),
	} {
		if got := reserve(t, s, req).GetGranted(); !got.GetReplayed() {
			t.Errorf("%s: %v", name, got)
		}
	}
	s.Unchanged(t, before)
}

// TestCase03AnotherTenantsSameIdIsAnotherReservation uses one id, and one request key, in two tenants.
func TestCase03AnotherTenantsSameIdIsAnotherReservation(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	seedTenant(t, s, "other")
	s.Granted(t, "J", "K")
	got := reserve(t, s, apptest.Reserve("J", "K", credits(7), of("other"))).GetGranted()
	if got == nil || got.GetReplayed() || got.GetPermit() == nil {
		t.Fatalf("another tenant's same id: %v", got)
	}
	is(t, "credits", got.GetReservation().GetCredit().GetTaken(), 7)
	s.Settle(t, "J", "K", apptest.Failed(nil))
	resp, err := s.Reservations.GetReservation(t.Context(), &settlementv1.GetReservationRequest{TenantId: "other", ReservationId: "J"})
	if status.Code(err) != codes.OK || resp.GetReservation().GetState() != processing {
		t.Errorf("the other tenant's reservation after an end of ours: %v, %v", resp, err)
	}
	verify(t, s, "other")
}
