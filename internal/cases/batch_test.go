package cases_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// reserveAll sends one batch and expects an answer for every item.
func reserveAll(t *testing.T, s *apptest.Service, reqs ...*settlementv1.ReserveRequest) []*settlementv1.ReserveResult {
	t.Helper()
	resp := must(s.Reservations.BatchReserve(t.Context(), &settlementv1.BatchReserveRequest{TenantId: apptest.Tenant, Requests: reqs}))(t)
	if len(resp.GetResults()) != len(reqs) {
		t.Fatalf("%d answers to %d items", len(resp.GetResults()), len(reqs))
	}
	return resp.GetResults()
}

func settleAll(t *testing.T, s *apptest.Service, reqs ...*settlementv1.SettleRequest) []*settlementv1.SettleResult {
	t.Helper()
	resp := must(s.Settlements.BatchSettle(t.Context(), &settlementv1.BatchSettleRequest{TenantId: apptest.Tenant, Requests: reqs}))(t)
	if len(resp.GetResults()) != len(reqs) {
		t.Fatalf("%d answers to %d items", len(resp.GetResults()), len(reqs))
	}
	return resp.GetResults()
}

// TestCase39OneBadItemNeverSpoilsItsBatch mixes good items with items of every bad kind, and holds each answer against that of the call
// alone.
func TestCase39OneBadItemNeverSpoilsItsBatch(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.BudgetLimitMicros = 1_000_000 })
	defer s.Verify(t)
	manySlots(t, s)
	s.Granted(t, "taken", "taken")
	kinds := []func(*settlementv1.ReserveRequest){
		credits(1),
		func(r *settlementv1.ReserveRequest) { r.AccountId = "nobody" },
		func(r *settlementv1.ReserveRequest) { r.Currency = "EUR" },
		func(r *settlementv1.ReserveRequest) { r.ReservationId = "taken" },
		func(r *settlementv1.ReserveRequest) { r.ReservationId = "bad\n" },
		func(r *settlementv1.ReserveRequest) { r.Submission.RequestKey = "taken" }, // denied
		credits(1_000_000_000), // denied
		func(r *settlementv1.ReserveRequest) { r.TenantId = "another" },
		func(r *settlementv1.ReserveRequest) { r.TenantId = "" },
		ttl(3_153_600_000),
		func(r *settlementv1.ReserveRequest) { proto.Reset(r) },
	}
	var reqs []*settlementv1.ReserveRequest
	for i := range 9 * len(kinds) {
		id := fmt.Sprint("J", i)
		reqs = append(reqs, apptest.Reserve(id, id, credits(1), kinds[i%len(kinds)]))
	}
	granted := 0
	for i, got := range reserveAll(t, s, reqs...) {
		if got.GetResponse().GetGranted() != nil {
			granted++
			if kind := i % len(kinds); kind != 0 && kind != 8 || got.GetResponse().GetGranted().GetReplayed() {
				t.Errorf("item %d was granted: %v", i, reqs[i])
			}
			continue
		}
		alone := clone(reqs[i])
		if alone.GetTenantId() == "another" {
			wantStatus(t, status.FromProto(got.GetError()).Err(), codes.InvalidArgument, "tenant_id")
			continue
		}
		if proto.Size(alone) == 0 {
			alone.TenantId = apptest.Tenant
		}
		resp, err := s.Reservations.Reserve(t.Context(), alone)
		want := &settlementv1.ReserveResult{Result: &settlementv1.ReserveResult_Response{Response: resp}}
		if err != nil {
			want = &settlementv1.ReserveResult{Result: &settlementv1.ReserveResult_Error{Error: status.Convert(err).Proto()}}
		}
		for _, r := range []*settlementv1.ReserveResult{got, want} { // the neighbours took some in between
			for _, d := range r.GetResponse().GetDenied().GetDenials() {
				d.Available = 0
			}
		}
		if !proto.Equal(got, want) {
			t.Errorf("item %d: %v\nalone: %v", i, got, want)
		}
	}
	is(t, "granted", granted, 18)
}

// TestCase03AnItemTwiceInABatchIsOnce sends the same items more than once in one batch, and one with other content.
func TestCase03AnItemTwiceInABatchIsOnce(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	j, other := apptest.Reserve("J", "K", credits(10)), apptest.Reserve("J", "K", credits(11))
	got := reserveAll(t, s, j, j, other, apptest.Reserve("J2", "K", credits(10)), j)
	for i, wantReplayed := range map[int]bool{0: false, 1: true, 4: true} {
		g := got[i].GetResponse().GetGranted()
		if g.GetReplayed() != wantReplayed || !proto.Equal(g.GetReservation(), got[0].GetResponse().GetGranted().GetReservation()) {
			t.Errorf("item %d: %v", i, got[i])
		}
	}
	wantStatus(t, status.FromProto(got[2].GetError()).Err(), codes.AlreadyExists, "funding")
	if d := got[3].GetResponse().GetDenied().GetDenials(); len(d) != 1 || d[0].GetReason() != settlementv1.DenialReason_DENIAL_REASON_KEY_OF_ANOTHER_RESERVATION {
		t.Errorf("the key of another reservation: %v", got[3])
	}
	end := apptest.Settlement("J", "K", apptest.Completed(apptest.Money(7)))
	settled := settleAll(t, s, end, end, apptest.Settlement("J", "K", apptest.Failed(nil)), apptest.Settlement("nobody", "K", apptest.Failed(nil)),
		apptest.Settlement("J", "", apptest.Completed(nil)), end)
	for i, want := range map[int]settlementv1.Disposition{0: applied, 1: replayed, 2: superseded, 5: replayed} {
		is(t, fmt.Sprint("item ", i), settled[i].GetResponse().GetDisposition(), want)
	}
	wantStatus(t, status.FromProto(settled[3].GetError()).Err(), codes.NotFound, "reservation_id")
	wantStatus(t, status.FromProto(settled[4].GetError()).Err(), codes.InvalidArgument, "request_key")
	is(t, "captured", settled[0].GetResponse().GetReservation().GetCredit().GetCaptured(), 10)
	is(t, "entries of J", s.Entries(t, "J"), 2)
}

// TestCase24ABatchTakesNoMoreThanThereIs asks in one batch for more than the account has: as many items are granted as it can pay.
func TestCase24ABatchTakesNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	var reqs []*settlementv1.ReserveRequest
	for i := range 30 {
		reqs = append(reqs, apptest.Reserve(fmt.Sprint("J", i), "", credits(apptest.Credits/4)))
	}
	granted := 0
	for i, got := range reserveAll(t, s, reqs...) {
		if got.GetResponse().GetGranted() != nil {
			granted++
		} else if got.GetResponse().GetDenied() == nil {
			t.Errorf("item %d: %v", i, got)
		}
	}
	is(t, "granted", granted, 4)
	is(t, "credits left", s.Books(t).Credits, 0)
}

// TestCase40ABatchHasABound sends batches of nothing, of too much, and without a tenant: none of their items is carried out.
func TestCase40ABatchHasABound(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	before := s.Copy(t)
	many := make([]*settlementv1.ReserveRequest, 100_001)
	for i := range many {
		many[i] = &settlementv1.ReserveRequest{}
	}
	for field, req := range map[string]proto.Message{
		"requests":  &settlementv1.BatchReserveRequest{TenantId: apptest.Tenant},
		"requests ": &settlementv1.BatchReserveRequest{TenantId: apptest.Tenant, Requests: many[:1001]},
		" requests": &settlementv1.BatchReserveRequest{TenantId: apptest.Tenant, Requests: many},
		"tenant_id": &settlementv1.BatchReserveRequest{Requests: many[:1]},
	} {
		_, err := try(t.Context(), s, req)
		wantStatus(t, err, codes.InvalidArgument, strings.TrimSpace(field))
	}
	s.Unchanged(t, before)
}

// TestCase27ALockedAccountHoldsUpItsItemsOnly has somebody hold one account of a batch.
func TestCase27ALockedAccountHoldsUpItsItemsOnly(t *testing.T) {
	t.Parallel()
	log := &logged{}
	x := newSite(t, log.into)
	x.roomy()
	x.addAccount("bob")
	h := x.hold("SELECT FROM accounts WHERE account_id = 'bob' FOR UPDATE")
	var reqs []*settlementv1.ReserveRequest
	for i := range 40 {
		change := credits(1)
		if i%4 == 0 {
			change = from("bob")
		}
		reqs = append(reqs, apptest.Reserve(fmt.Sprint("r", i), "", change))
	}
	for i, got := range reserveAll(t, x.Service, reqs...) {
		if i%4 != 0 {
			if got.GetResponse().GetGranted() == nil {
				t.Errorf("item %d is a neighbour: %v", i, got)
			}
			continue
		}
		err := status.FromProto(got.GetError()).Err()
		wantCode(t, "on the locked account", err, codes.Unavailable)
		wantRetryInfo(t, err)
	}
	is(t, "lines in the log that tell of all ten", log.count("msg=fault items=10 of=40"), 1)
	h.release()
	for i, got := range reserveAll(t, x.Service, reqs...) {
		if g := got.GetResponse().GetGranted(); g == nil || g.GetReplayed() != (i%4 != 0) {
			t.Errorf("item %d afterwards: %v", i, got)
		}
	}
	x.whole()
}

// TestCase01AckLossOfABatchIsNoDenial loses the answer to the COMMIT of a batch, then sends the batch again.
func TestCase01AckLossOfABatchIsNoDenial(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	p, proxy := x.behindProxy()
	var reqs []*settlementv1.ReserveRequest
	for i := range 4 {
		reqs = append(reqs, apptest.Reserve(fmt.Sprint("r", i), fmt.Sprint("k", i), credits(apptest.Credits/4)))
	}
	struck := proxy.Next(postgrestest.CutAfterCommit)
	first := reserveAll(t, p.Service, reqs...)
	<-struck
	again := reserveAll(t, x.Service, reqs...)
	for i := range reqs {
		g, replay := first[i].GetResponse().GetGranted(), again[i].GetResponse().GetGranted()
		if g == nil || g.GetReplayed() || !replay.GetReplayed() || !proto.Equal(g.GetReservation(), replay.GetReservation()) {
			t.Errorf("item %d: %v, then %v", i, first[i], again[i])
		}
	}
	x.wantCredits(0, apptest.Credits)
	x.whole()
}

// A batch joins its tenant's queue whole or not at all.
func TestABatchIsTurnedAwayWhole(t *testing.T) {
	t.Parallel()
	x := newSite(t, func(c *app.Config) { c.QueueMax, c.BatchMax = 10, 1 })
	x.roomy()
	h := x.hold(theProvider)
	var reqs []*settlementv1.ReserveRequest
	for i := range 11 {
		reqs = append(reqs, apptest.Reserve(fmt.Sprint("r", i), "", credits(1)))
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := x.Reservations.Reserve(t.Context(), apptest.Reserve("first", "", credits(1)))
		waiting <- err
	}()
	x.untilBlocked(1)
	_, err := x.Reservations.BatchReserve(t.Context(), &settlementv1.BatchReserveRequest{TenantId: apptest.Tenant, Requests: reqs})
	wantCode(t, "a full queue", err, codes.ResourceExhausted)
	wantRetryInfo(t, err)
	h.release()
	if err := <-waiting; !passing(err) && err != nil {
		t.Error(err)
	}
	for i, got := range reserveAll(t, x.Service, reqs...) {
		if g := got.GetResponse().GetGranted(); g == nil || g.GetReplayed() {
			t.Errorf("item %d: %v", i, got)
		}
	}
	x.whole()
}
