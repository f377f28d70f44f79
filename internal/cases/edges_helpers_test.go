package cases_test

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// The words that these tests need most.
const (
	applied    = settlementv1.Disposition_DISPOSITION_APPLIED
	replayed   = settlementv1.Disposition_DISPOSITION_REPLAYED
	superseded = settlementv1.Disposition_DISPOSITION_SUPERSEDED
	held       = settlementv1.Disposition_DISPOSITION_HELD
	refused    = settlementv1.Disposition_DISPOSITION_REFUSED

	pending    = settlementv1.ReservationState_RESERVATION_STATE_PENDING
	processing = settlementv1.ReservationState_RESERVATION_STATE_PROCESSING
	uncertain  = settlementv1.ReservationState_RESERVATION_STATE_UNCERTAIN
	completed  = settlementv1.ReservationState_RESERVATION_STATE_COMPLETED
	failed     = settlementv1.ReservationState_RESERVATION_STATE_FAILED
	rejected   = settlementv1.ReservationState_RESERVATION_STATE_REJECTED
	cancelled  = settlementv1.ReservationState_RESERVATION_STATE_CANCELLED
	expired    = settlementv1.ReservationState_RESERVATION_STATE_EXPIRED

	lineUncertain   = settlementv1.Knowledge_KNOWLEDGE_UNCERTAIN
	lineAccepted    = settlementv1.Knowledge_KNOWLEDGE_ACCEPTED
	lineNotAccepted = settlementv1.Knowledge_KNOWLEDGE_NOT_ACCEPTED
	lineNotReceived = settlementv1.Knowledge_KNOWLEDGE_NOT_RECEIVED
	lineSucceeded   = settlementv1.Knowledge_KNOWLEDGE_SUCCEEDED
	lineFailed      = settlementv1.Knowledge_KNOWLEDGE_FAILED

	endCompleted      = settlementv1.OutcomeKind_OUTCOME_KIND_COMPLETED
	endProviderFailed = settlementv1.OutcomeKind_OUTCOME_KIND_PROVIDER_FAILED
	endRejected       = settlementv1.OutcomeKind_OUTCOME_KIND_POLICY_REJECTED
	endUnavailable    = settlementv1.OutcomeKind_OUTCOME_KIND_MODERATION_UNAVAILABLE
	endCancelled      = settlementv1.OutcomeKind_OUTCOME_KIND_CANCELLED
	endExpired        = settlementv1.OutcomeKind_OUTCOME_KIND_EXPIRED
	endNotReceived    = settlementv1.OutcomeKind_OUTCOME_KIND_NOT_RECEIVED
	endGivenUp        = settlementv1.OutcomeKind_OUTCOME_KIND_GIVEN_UP

	unknownAttempt = settlementv1.RefusedReason_REFUSED_REASON_UNKNOWN_ATTEMPT
	taskMismatch   = settlementv1.RefusedReason_REFUSED_REASON_TASK_MISMATCH
	staleAttempt   = settlementv1.RefusedReason_REFUSED_REASON_STALE_ATTEMPT
	conflicting    = settlementv1.RefusedReason_REFUSED_REASON_CONFLICTING_FACT
	tooEarly       = settlementv1.RefusedReason_REFUSED_REASON_TOO_EARLY

	callback = settlementv1.Observer_OBSERVER_CALLBACK
	poll     = settlementv1.Observer_OBSERVER_POLL
)

// seeded is a service with an account of 100 credits, 2 free attempts and 5 slots, and a provider with a budget of 1000.
func seeded(t *testing.T, change ...func(*settlementv1.PutProviderRequest)) *apptest.Service {
	t.Helper()
	s := apptest.New(t)
	s.Seed(t, change...)
	return s
}

// answer is what Settle, ReportSubmission and Reconcile have in common.
type answer interface {
	GetDisposition() settlementv1.Disposition
	GetRefusedReason() settlementv1.RefusedReason
	GetReservation() *settlementv1.Reservation
	GetExceptions() []*settlementv1.ExceptionRef
}

// is compares one thing with what it should be.
func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wantAnswer compares what was done with a fact, and the state that it left.
func wantAnswer(t *testing.T, a answer, d settlementv1.Disposition, s settlementv1.ReservationState) *settlementv1.Reservation {
	t.Helper()
	if a.GetDisposition() != d || a.GetReservation().GetState() != s {
		t.Errorf("got %v (%v) in state %v, want %v in state %v",
			a.GetDisposition(), a.GetRefusedReason(), a.GetReservation().GetState(), d, s)
	}
	return a.GetReservation()
}

// wantRefused compares the reason of a refusal, and expects the exception that goes with it.
func wantRefused(t *testing.T, a answer, reason settlementv1.RefusedReason) {
	t.Helper()
	if a.GetDisposition() != refused || a.GetRefusedReason() != reason {
		t.Fatalf("got %v (%v), want REFUSED (%v)", a.GetDisposition(), a.GetRefusedReason(), reason)
	}
	wanted := 1
	if reason == settlementv1.RefusedReason_REFUSED_REASON_TOO_EARLY || reason == settlementv1.RefusedReason_REFUSED_REASON_NOT_A_GENERATION {
		wanted = 0
	}
	if n := len(a.GetExceptions()); n != wanted {
		t.Errorf("%v leaves %d exceptions, want %d", reason, n, wanted)
	}
}

// wantEnd compares how a reservation ended.
func wantEnd(t *testing.T, r *settlementv1.Reservation, kind settlementv1.OutcomeKind) {
	t.Helper()
	is(t, "outcome", r.GetOutcome().GetKind(), kind)
}

// line finds a line of the journal.
func line(t *testing.T, r *settlementv1.Reservation, key string) *settlementv1.Line {
	t.Helper()
	for _, l := range r.GetLines() {
		if l.GetRequestKey() == key {
			return l
		}
	}
	t.Fatalf("no line %s in %v", key, r.GetLines())
	return nil
}

// wantLine compares what is known of a line.
func wantLine(t *testing.T, r *settlementv1.Reservation, key string, k settlementv1.Knowledge) *settlementv1.Line {
	t.Helper()
	l := line(t, r, key)
	is(t, "knowledge of "+key, l.GetKnowledge(), k)
	return l
}

// wantStatus compares a status, and the field that its details blame. Every status has an ErrorInfo.
func wantStatus(t *testing.T, err error, code codes.Code, field string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("got %v, want %v", err, code)
		return
	}
	var info *errdetails.ErrorInfo
	var bad *errdetails.BadRequest
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *errdetails.BadRequest:
			bad = d
		}
	}
	if info.GetReason() == "" || info.GetDomain() != "settlementd" {
		t.Errorf("%v: ErrorInfo %v names no reason or domain", err, info)
	}
	if field == "" {
		return
	}
	is(t, "field of ErrorInfo", info.GetMetadata()["field"], field)
	if n := len(bad.GetFieldViolations()); n == 0 || bad.GetFieldViolations()[0].GetField() != field {
		t.Errorf("%v: BadRequest %v does not name %s", err, bad, field)
	}
}

// denial finds why a reservation was denied, and fails the test when it was not, or for more reasons than this one.
func denial(t *testing.T, resp *settlementv1.ReserveResponse, err error, reason settlementv1.DenialReason) *settlementv1.Denial {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	denials := resp.GetDenied().GetDenials()
	if len(denials) != 1 || denials[0].GetReason() != reason {
		t.Fatalf("got %v, want a denial for %v", resp, reason)
	}
	return denials[0]
}

// reserve asks for a reservation that may be denied.
func reserve(t *testing.T, s *apptest.Service, req *settlementv1.ReserveRequest) *settlementv1.ReserveResponse {
	t.Helper()
	resp, err := s.Reservations.Reserve(t.Context(), req)
	if err != nil {
		t.Fatalf("reserve %s: %v", req.GetReservationId(), err)
	}
	return resp
}

// must returns the answer of a call that may not fail.
func must[A any](resp A, err error) func(*testing.T) A {
	return func(t *testing.T) A {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
}

// send makes the call that a request is for, and fails the test when it gets no answer.
func send(t *testing.T, s *apptest.Service, req proto.Message) proto.Message {
	t.Helper()
	resp, err := try(t.Context(), s, req)
	if err != nil {
		t.Fatalf("%T: %v", req, err)
	}
	return resp
}

// try makes the call that a request is for. No two methods share one.
func try(ctx context.Context, s *apptest.Service, req proto.Message) (proto.Message, error) {
	method := methods()[req.ProtoReflect().Descriptor().FullName()]
	resp, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	if err != nil {
		return nil, err
	}
	answer := resp.New().Interface()
	err = s.Conn.Invoke(ctx, fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name()), req, answer)
	switch batch := answer.(type) {
	case *settlementv1.BatchReserveResponse:
		for _, r := range batch.GetResults() {
			err = cmp.Or(err, ofItem(r.GetError()))
		}
	case *settlementv1.BatchSettleResponse:
		for _, r := range batch.GetResults() {
			err = cmp.Or(err, ofItem(r.GetError()))
		}
	}
	return answer, err
}

// ofItem is the status of the only item of a batch, which names a field as seen from the batch.
func ofItem(s *spb.Status) error {
	if s == nil {
		return nil
	}
	var details []protoadapt.MessageV1
	for _, d := range status.FromProto(s).Details() {
		switch d := d.(type) {
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				v.Field = "requests[0]." + v.GetField()
			}
			details = append(details, d)
		case *errdetails.ErrorInfo:
			if field := d.GetMetadata()["field"]; field != "" {
				d.Metadata["field"] = "requests[0]." + field
			}
			details = append(details, d)
		}
	}
	with, err := status.New(codes.Code(s.GetCode()), s.GetMessage()).WithDetails(details...)
	if err != nil {
		return err
	}
	return with.Err()
}

// methods are the service's methods, by their request.
var methods = sync.OnceValue(func() map[protoreflect.FullName]protoreflect.MethodDescriptor {
	found := map[protoreflect.FullName]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFilesByPackage("settlement.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				m := file.Services().Get(i).Methods().Get(j)
				found[m.Input().FullName()] = m
			}
		}
		return true
	})
	return found
})

// clone copies a request.
func clone[M proto.Message](m M) M { return proto.Clone(m).(M) }

// task binds an outcome to the provider's task.
func task(id string) func(*settlementv1.SettleRequest) {
	return func(r *settlementv1.SettleRequest) { r.ProviderTaskId = new(id) }
}

// comesTrue waits for what another goroutine or server does.
func comesTrue(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick, enough := time.NewTicker(5*time.Millisecond), time.NewTimer(time.Minute)
	defer tick.Stop()
	defer enough.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-enough.C:
			t.Fatalf("never: %s", what)
		}
	}
}
