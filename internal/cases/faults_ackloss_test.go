package cases_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// The answer to COMMIT is lost, and the server asks what became of it. Whoever ran Reserve a second time would see its own debit, and say
// that the credits do not suffice.
func TestCase01AckLossOfReserveIsNoDenial(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	p, proxy := x.behindProxy()
	struck := proxy.Next(postgrestest.CutAfterCommit)
	granted := p.Granted(t, "r1", "k1", credits(apptest.Credits))
	<-struck
	if granted.GetReplayed() || granted.GetPermit() == nil {
		t.Errorf("not the first answer: %v", granted)
	}
	if got := x.Get(t, "r1"); !proto.Equal(got, granted.GetReservation()) {
		t.Errorf("stored: %v\nanswered: %v", got, granted.GetReservation())
	}
	x.wantCredits(0, apptest.Credits)
	if n := x.entries("reserve r1"); n != 1 {
		t.Errorf("%d entries", n)
	}
	x.whole()
}

func TestCase01AckLossOfSettleReturnsOnce(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	p, proxy := x.behindProxy()
	x.Granted(t, "r1", "k1", credits(apptest.Credits))
	struck := proxy.Next(postgrestest.CutAfterCommit)
	resp := p.Settle(t, "r1", "k1", apptest.Failed(apptest.Money(0)))
	<-struck
	wantDisposition(t, resp, nil, settlementv1.Disposition_DISPOSITION_APPLIED)
	x.wantCredits(apptest.Credits, 0)
	if n := x.entries("end r1"); n != 1 {
		t.Errorf("%d ends", n)
	}
	again := x.Settle(t, "r1", "k1", apptest.Failed(apptest.Money(0)))
	wantDisposition(t, again, nil, settlementv1.Disposition_DISPOSITION_REPLAYED)
	x.whole()
}

// The connection breaks before COMMIT arrives, each time that the server tries.
func TestCase01ResetBeforeCommitIsNotOK(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	p, proxy := x.behindProxy()
	for range 3 {
		proxy.Next(postgrestest.CutBeforeCommit)
	}
	_, err := p.Reservations.Reserve(t.Context(), apptest.Reserve("r1", "k1"))
	wantCode(t, "reserve", err, codes.Unavailable)
	if n := x.number("SELECT count(*) FROM reservations") + x.entries("reserve r1") + x.number("SELECT count(*) FROM lines"); n != 0 {
		t.Errorf("%d rows of a call that did not happen", n)
	}
	x.wantCredits(apptest.Credits, 0)
	if granted := p.Granted(t, "r1", "k1"); granted.GetReplayed() {
		t.Error("it is remembered although it did not happen")
	}
	x.whole()
}

func TestCase01ADatabaseThatStaysAway(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	p, proxy := x.behindProxy()
	for id, fault := range map[string]postgrestest.Fault{"after": postgrestest.CutAfterCommit, "before": postgrestest.CutBeforeCommit} {
		answered := make(chan error, 1)
		struck := proxy.Next(fault)
		go func() {
			resp, err := p.Reservations.Reserve(context.Background(), apptest.Reserve(id, ""))
			if resp.GetDenied() != nil {
				t.Errorf("%s: denied: %v", id, resp)
			}
			answered <- err
		}()
		<-struck
		proxy.Refuse()
		if err := <-answered; err != nil { // nil: its fate was learnt in the last moment
			wantCode(t, id, err, codes.Unavailable)
		}
		_, err := p.Reservations.Reserve(t.Context(), apptest.Reserve(id, ""))
		wantCode(t, id+", again", err, codes.Unavailable)
		proxy.Accept()
		postgrestest.Until(t, "the truth is told", func() bool {
			resp, err := p.Reservations.Reserve(t.Context(), apptest.Reserve(id, ""))
			if resp.GetDenied() != nil {
				t.Errorf("%s: denied: %v", id, resp)
			}
			if err != nil {
				wantCode(t, id, err, codes.Unavailable)
			}
			return resp.GetGranted() != nil
		})
		if n := x.entries("reserve " + id); n != 1 {
			t.Errorf("%s: %d entries", id, n)
		}
	}
	x.whole()
}

// Every call that writes, with its answer lost or its COMMIT: it is carried out once, and says so.
func TestCase01EveryCallSurvivesAckLoss(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]postgrestest.Fault{
		"after": postgrestest.CutAfterCommit, "before": postgrestest.CutBeforeCommit, "on": postgrestest.CutOnCommit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSite(t)
			p, proxy := x.behindProxy()
			for i, call := range writingCalls(t, x) {
				before := x.number("SELECT count(*) FROM entries")
				struck := proxy.Next(fault)
				if err := call.do(t.Context(), p); err != nil {
					t.Errorf("%d %s: %v", i, call.name, err)
				}
				select {
				case <-struck:
				default:
					t.Errorf("%s did not commit", call.name)
				}
				if n := x.number("SELECT count(*) FROM entries") - before; n != call.entries {
					t.Errorf("%s left %d entries", call.name, n)
				}
			}
			x.whole()
		})
	}
}

// writingCall is a call with the number of entries that it leaves.
type writingCall struct {
	name    string
	entries int
	do      func(ctx context.Context, x *site) error
}

// writingCalls are calls of every kind that writes, in an order in which each changes something.
func writingCalls(t *testing.T, x *site) []writingCall {
	t.Helper()
	x.Granted(t, "r0", "k0")
	x.Settle(t, "r0", "k0", apptest.Failed(apptest.Money(1)))
	disagreement := x.Settle(t, "r0", "k0", apptest.Failed(apptest.Money(2))).GetExceptions()
	if len(disagreement) != 1 {
		t.Fatalf("no exception: %v", disagreement)
	}
	of := func(name string, entries int, request proto.Message) writingCall {
		return writingCall{name, entries, func(ctx context.Context, x *site) error {
			_, err := try(ctx, x.Service, request)
			return err
		}}
	}
	grant := &settlementv1.GrantCreditsRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: "g1", Credits: 5}
	attempts := &settlementv1.GrantFreeAttemptsRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: "g1", Attempts: 5}
	return []writingCall{
		of("Reserve", 1, apptest.Reserve("r1", "")),
		of("ExtendReservation", 1, &settlementv1.ExtendReservationRequest{TenantId: apptest.Tenant, ReservationId: "r1", TtlSeconds: 5000}),
		of("BeginSubmission", 1, apptest.Submission("r1", "k1")),
		of("ReportSubmission", 1, apptest.Report("r1", "k1", apptest.Accepted("task"))),
		of("Settle", 1, apptest.Settlement("r1", "k1", apptest.Completed(nil))),
		of("Settle, superseded", 0, apptest.Settlement("r1", "k1", apptest.Rejected(apptest.Output, nil))),
		of("Reconcile", 1, apptest.Proof("r1", "k1", apptest.Costs(3))),
		of("ResolveException", 1, &settlementv1.ResolveExceptionRequest{
			TenantId: apptest.Tenant, ExceptionId: disagreement[0].GetExceptionId(),
			Resolution: &settlementv1.ResolveExceptionRequest_Apply{Apply: &settlementv1.ApplyResolution{Reason: "the invoice says so"}},
		}),
		of("GrantCredits", 1, grant),
		of("GrantFreeAttempts", 1, attempts),
		of("PutAccount", 0, &settlementv1.PutAccountRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: 7}),
		of("PutBudget", 0, &settlementv1.PutBudgetRequest{TenantId: apptest.Tenant, ProviderId: apptest.Provider, LimitMicros: 999}),
	}
}

// The caller never sees the answer to Reserve, comes again, and two workers settle.
func TestCase04AnAnswerThatNobodySaw(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	y := x.replica()
	first := x.Granted(t, "r1", "k1") // its answer goes nowhere
	again := y.Granted(t, "r1", "k1")
	if !again.GetReplayed() || !proto.Equal(again.GetReservation(), first.GetReservation()) {
		t.Errorf("another answer: %v", again)
	}
	x.wantCredits(apptest.Credits-10, 10)
	dispositions := map[settlementv1.Disposition]int{}
	answers := make(chan *settlementv1.SettleResponse, 2)
	for _, server := range []*site{x, y} {
		go func() {
			resp, err := server.Settlements.Settle(context.Background(), apptest.Settlement("r1", "k1", apptest.Failed(nil)))
			if err != nil {
				t.Error(err)
			}
			answers <- resp
		}()
	}
	for range 2 {
		dispositions[(<-answers).GetDisposition()]++
	}
	if fmt.Sprint(dispositions) != fmt.Sprint(map[settlementv1.Disposition]int{
		settlementv1.Disposition_DISPOSITION_APPLIED: 1, settlementv1.Disposition_DISPOSITION_REPLAYED: 1,
	}) {
		t.Errorf("%v", dispositions)
	}
	x.wantCredits(apptest.Credits, 0)
	if x.entries("reserve r1") != 1 || x.entries("end r1") != 1 {
		t.Error("not one hold and one return")
	}
	x.whole()
}

// Whatever statement of a call breaks, nothing of the call is remembered: the same call applies later.
func TestCase06NothingRemembersAFailedEffect(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	x.Granted(t, "before", "k0")
	for _, event := range []string{
		"UPDATE ON accounts", "UPDATE ON providers", "UPDATE ON budgets", "INSERT ON reservations", "UPDATE ON reservations",
		"INSERT ON lines", "UPDATE ON lines", "INSERT ON entries",
	} {
		id := "r" + fmt.Sprint(len(event)) + event[:1] + event[len(event)-3:]
		x.fault(event, always, raise("P0001"))
		_, reserving := x.Reservations.Reserve(t.Context(), apptest.Reserve(id, "k"+id))
		x.mend()
		if reserving != nil {
			wantCode(t, event, reserving, codes.Internal)
			if granted := x.Granted(t, id, "k"+id); granted.GetReplayed() {
				t.Errorf("%s: a failed Reserve is remembered", event)
			}
		}
		x.fault(event, always, raise("P0001"))
		_, settling := x.Settlements.Settle(t.Context(), apptest.Settlement(id, "k"+id, apptest.Failed(apptest.Money(0))))
		x.mend()
		if settling != nil {
			wantCode(t, event, settling, codes.Internal)
			again := x.Settle(t, id, "k"+id, apptest.Failed(apptest.Money(0)))
			wantDisposition(t, again, nil, settlementv1.Disposition_DISPOSITION_APPLIED)
		}
		if reserving == nil && settling == nil {
			t.Errorf("no call broke on %s", event)
		}
		x.whole()
	}
	x.wantCredits(apptest.Credits-10, 10)
}
