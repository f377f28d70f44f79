package cases_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// bounded is far more than a call on a locked row may take, and less than its own deadline.
const bounded = 8 * time.Second

// Somebody else holds the account's row while there is plenty on it.
func TestCase27ALockIsNeverADenial(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]string{"account": theAccount, "provider": theProvider, "budget": theBudget} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSite(t)
			x.addAccount("bob")
			x.Granted(t, "held", "k0")
			h := x.hold(row)
			calls := map[string]proto.Message{
				"reserve": apptest.Reserve("r1", "k1"),
				"settle":  apptest.Settlement("held", "k0", apptest.Failed(apptest.Money(0))),
				"report":  apptest.Report("held", "k0", apptest.Accepted("task")),
				"extend":  &settlementv1.ExtendReservationRequest{TenantId: apptest.Tenant, ReservationId: "held", TtlSeconds: 5000},
			}
			for what, req := range calls {
				start := time.Now()
				_, err := try(t.Context(), x.Service, req)
				took := time.Since(start)
				if name != "account" && (what == "report" || what == "extend") { // nothing of the provider or its budget changes with these
					if err != nil {
						t.Errorf("%s after %v: %v", what, took, err)
					}
					continue
				}
				if !passing(err) || took > bounded {
					t.Errorf("%s after %v: %v", what, took, err)
				}
				wantRetryInfo(t, err)
			}
			if name == "account" {
				x.Granted(t, "neighbour", "", from("bob"))
			}
			h.release()
			if granted := x.Granted(t, "r1", "k1"); granted.GetReplayed() {
				t.Error("the call that was not carried out is remembered")
			}
			x.wantCredits(apptest.Credits-20, 20)
			wantDisposition(t, x.Settle(t, "held", "k0", apptest.Failed(apptest.Money(0))), nil, settlementv1.Disposition_DISPOSITION_APPLIED)
			x.whole()
		})
	}
}

func wantRetryInfo(t *testing.T, err error) {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok && r.GetRetryDelay().AsDuration() > 0 {
			return
		}
	}
	t.Errorf("no hint when to come again: %v", err)
}

// Neighbours of a locked account go on while it is waited for, and so does the account once it is free.
func TestCase27NeighboursOfALockGoOn(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	x.roomy()
	x.addAccount("bob")
	h := x.hold(theAccount)
	waits := make(chan error, 1)
	go func() {
		_, err := x.Reservations.Reserve(context.Background(), apptest.Reserve("r1", ""))
		waits <- err
	}()
	x.untilBlocked(1)
	x.Granted(t, "neighbour", "", from("bob"))
	select {
	case err := <-waits:
		t.Fatalf("the call on the locked account did not wait: %v", err)
	default:
	}
	h.release()
	if err := <-waits; err != nil {
		t.Errorf("once the lock was gone: %v", err)
	}
	x.whole()
}

// Deadlocks and serialization failures, as the first statement and as a later one of each kind of call.
func TestCase27LostRacesAreTriedAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"40P01", "40001"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			x := newSite(t)
			for i, event := range []string{"UPDATE ON accounts", "UPDATE ON providers", "INSERT ON entries"} {
				id := fmt.Sprintf("r%d", i)
				x.fault(event, twice, raise(code))
				x.Granted(t, id, "k"+id)
				x.mend()
				x.fault(event, twice, raise(code))
				wantDisposition(t, x.Settle(t, id, "k"+id, apptest.Failed(nil)), nil, settlementv1.Disposition_DISPOSITION_APPLIED)
				x.mend()

				x.fault(event, always, raise(code))
				_, err := x.Reservations.Reserve(t.Context(), apptest.Reserve("always"+id, ""))
				wantCode(t, event, err, codes.Aborted)
				wantRetryInfo(t, err)
				x.mend()
				if granted := x.Granted(t, "always"+id, ""); granted.GetReplayed() {
					t.Errorf("%s: remembered", event)
				}
				x.Settle(t, "always"+id, "", apptest.Cancelled())
			}
			x.whole()
		})
	}
}

// The same while the rows are loaded: what fails there is the clock, the last of the statements.
func TestCase27ALostRaceWhileLoading(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	x.DB.Exec(`CREATE SEQUENCE losses; GRANT USAGE ON losses TO settlementd_service;
		CREATE OR REPLACE FUNCTION settlement_now() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
		BEGIN
			IF nextval('losses') <= 2 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END IF;
			RETURN clock_timestamp();
		END $$`)
	x.Granted(t, "r1", "k1")
	x.whole()
}

// Two transactions of others run into a deadlock with ours: whoever loses, the call ends well or can come again.
func TestCase27ARealDeadlock(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	x.Granted(t, "r1", "k1")
	h := x.hold(theBudget)
	settled := make(chan error, 1)
	go func() {
		_, err := x.Settlements.Settle(context.Background(), apptest.Settlement("r1", "k1", apptest.Failed(apptest.Money(0))))
		settled <- err
	}()
	x.untilBlocked(1) // it holds the reservation and the account
	_, _ = h.conn.Exec(t.Context(), theAccount)
	h.release()
	if err := <-settled; err != nil && !passing(err) {
		t.Error(err)
	}
	x.Settle(t, "r1", "k1", apptest.Failed(apptest.Money(0)))
	x.wantCredits(apptest.Credits, 0)
	x.whole()
}

// The server's own clock tells nothing: it is five minutes ahead of the database's, or behind it. The call waits for a lock while the
// deadline passes.
func TestCase26TheClockOfTheDatabaseDecides(t *testing.T) {
	t.Parallel()
	for name, shift := range map[string]time.Duration{"ahead": -5 * time.Minute, "behind": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSite(t)
			x.TurnClock(shift)
			granted := x.Granted(t, "r1", "", ttl(60)).GetReservation()
			if lives := granted.GetDeadline().AsTime().Sub(granted.GetCreatedAt().AsTime()); lives != time.Minute {
				t.Errorf("it lives %v", lives)
			}
			h := x.hold(theAccount)
			answer := make(chan *settlementv1.SettleResponse, 1)
			go func() {
				for { // as callers do: again with the same id
					resp, err := x.Settlements.Settle(context.Background(), apptest.Settlement("r1", "", apptest.Cancelled()))
					if err == nil {
						answer <- resp
						return
					}
					if !passing(err) {
						t.Error(err)
						close(answer)
						return
					}
				}
			}()
			x.untilBlocked(1)
			x.TurnClock(shift + time.Minute) // not by so much as a second more than the deadline
			h.release()
			resp := <-answer
			wantDisposition(t, resp, nil, settlementv1.Disposition_DISPOSITION_SUPERSEDED)
			if kind := resp.GetReservation().GetOutcome().GetKind(); kind != settlementv1.OutcomeKind_OUTCOME_KIND_EXPIRED {
				t.Errorf("it ended as %v", kind)
			}
			if n := x.entries("end r1"); n != 1 {
				t.Errorf("%d ends", n)
			}
			x.wantCredits(apptest.Credits, 0)
			x.whole()
		})
	}
}

// The same wait, with time left when it ends: it is not the clock of the call's beginning or of the server.
func TestCase26AWaitThatEndsInTime(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	x.Granted(t, "r1", "", ttl(60))
	x.TurnClock(2 * time.Minute)
	h := x.hold(theAccount)
	answer := make(chan *settlementv1.SettleResponse, 1)
	go func() {
		resp, err := x.Settlements.Settle(context.Background(), apptest.Settlement("r1", "", apptest.Cancelled()))
		if err != nil {
			t.Error(err)
		}
		answer <- resp
	}()
	x.untilBlocked(1)
	x.TurnClock(0)
	h.release()
	wantDisposition(t, <-answer, nil, settlementv1.Disposition_DISPOSITION_APPLIED)
	x.whole()
}
