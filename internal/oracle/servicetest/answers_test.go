package servicetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/oracle"
)

// answered is an answer in the words of the page, with the reservation and the exceptions that it shows.
type answered struct {
	oracle.Answer
	shown *settlementv1.Reservation // nil: none
	named []string                  // reasons of the exceptions
}

// call makes one call of the page for an actor. A sweep is no call: it comes for all.
func call(ctx context.Context, s *apptest.Service, a *actor, c *oracle.Call) answered {
	said := a.cell.Situation.Say(c, a.cast, a.terms)
	switch c.RPC {
	case "Reserve":
		return reserved(s.Reservations.Reserve(ctx, reserveRequest(a, said)))
	case "ExtendReservation":
		return extended(s.Reservations.ExtendReservation(ctx, &settlementv1.ExtendReservationRequest{
			TenantId: apptest.Tenant, ReservationId: a.name, TtlSeconds: *said.Number("ttl"),
		}))
	case "BeginSubmission":
		return permitted(s.Reservations.BeginSubmission(ctx, beginRequest(a, said)))
	case "ReportSubmission":
		r, err := s.Reservations.ReportSubmission(ctx, reportRequest(a, said))
		return disposed(r, settlementv1.HeldReason_HELD_REASON_UNSPECIFIED, err)
	case "Settle":
		r, err := s.Settlements.Settle(ctx, settleRequest(a, said))
		return disposed(r, r.GetHeldReason(), err)
	case "Reconcile":
		r, err := s.Reconciliation.Reconcile(ctx, reconcileRequest(a, said))
		return disposed(r, settlementv1.HeldReason_HELD_REASON_UNSPECIFIED, err)
	case "GetReservation":
		r, err := s.Reservations.GetReservation(ctx, &settlementv1.GetReservationRequest{TenantId: apptest.Tenant, ReservationId: a.name})
		return told(oracle.Answer{Word: "RESERVATION"}, r.GetReservation(), err)
	}
	return answered{Answer: oracle.Answer{Word: "no such rpc: " + c.RPC}}
}

// told is an answer, or the status in its place.
func told(a oracle.Answer, shown *settlementv1.Reservation, err error) answered {
	if err != nil {
		return failed(err)
	}
	return answered{Answer: a, shown: shown}
}

// failed reads a status as the page writes it. What is no mistake of the caller stays as it is, and fits no cell.
func failed(err error) answered {
	st := status.Convert(err)
	names := map[codes.Code]string{
		codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS", codes.InvalidArgument: "INVALID_ARGUMENT",
		codes.FailedPrecondition: "FAILED_PRECONDITION",
	}
	name, known := names[st.Code()]
	if !known {
		return answered{Answer: oracle.Answer{Word: err.Error()}}
	}
	a := oracle.Answer{Word: "STATUS", Code: name}
	for _, d := range st.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok && len(bad.GetFieldViolations()) > 0 {
			a.Field = bad.GetFieldViolations()[0].GetField()
		}
	}
	return answered{Answer: a}
}

func reserved(r *settlementv1.ReserveResponse, err error) answered {
	if denied := r.GetDenied(); denied != nil {
		a := oracle.Answer{Word: "DENIED"}
		for _, d := range denied.GetDenials() {
			reason := word(d.GetReason(), "DENIAL_REASON_")
			if d.Uncertain != nil {
				reason += fmt.Sprintf(":%d", d.GetUncertain())
			}
			a.Reasons = append(a.Reasons, reason)
		}
		return told(a, nil, err)
	}
	a := oracle.Answer{Word: "GRANTED", Permit: r.GetGranted().GetPermit() != nil}
	if r.GetGranted().GetReplayed() {
		a.Word = "REPLAYED"
	}
	return told(a, r.GetGranted().GetReservation(), err)
}

func extended(r *settlementv1.ExtendReservationResponse, err error) answered {
	if _, refused := r.GetResult().(*settlementv1.ExtendReservationResponse_Refused); refused {
		return told(oracle.Answer{Word: "REFUSED", Reasons: []string{word(r.GetRefused(), "EXTEND_REFUSAL_")}}, nil, err)
	}
	return told(oracle.Answer{Word: "RESERVATION"}, r.GetReservation(), err)
}

func permitted(r *settlementv1.BeginSubmissionResponse, err error) answered {
	var a oracle.Answer
	switch result := r.GetResult().(type) {
	case *settlementv1.BeginSubmissionResponse_Permit:
		a.Word = word(result.Permit.GetKind(), "PERMIT_KIND_")
	case *settlementv1.BeginSubmissionResponse_AlreadyGranted:
		a.Word = "ALREADY_GRANTED"
	case *settlementv1.BeginSubmissionResponse_Refused:
		a.Word, a.Reasons = "REFUSED", []string{word(result.Refused, "PERMIT_REFUSAL_")}
	}
	return told(a, r.GetReservation(), err)
}

// disposition is what the answers to a fact have in common.
type disposition interface {
	GetDisposition() settlementv1.Disposition
	GetRefusedReason() settlementv1.RefusedReason
	GetReservation() *settlementv1.Reservation
	GetExceptions() []*settlementv1.ExceptionRef
}

func disposed(r disposition, held settlementv1.HeldReason, err error) answered {
	a := oracle.Answer{Word: word(r.GetDisposition(), "DISPOSITION_")}
	if held != 0 {
		a.Reasons = append(a.Reasons, word(held, "HELD_REASON_"))
	}
	if refused := r.GetRefusedReason(); refused != 0 {
		a.Reasons = append(a.Reasons, word(refused, "REFUSED_REASON_"))
	}
	out := told(a, r.GetReservation(), err)
	for _, e := range r.GetExceptions() {
		out.named = append(out.named, word(e.GetReason(), "EXCEPTION_REASON_"))
	}
	slices.Sort(out.named)
	return out
}

// word is an enum's name without what all of them begin with.
func word(e fmt.Stringer, prefix string) string { return strings.TrimPrefix(e.String(), prefix) }
