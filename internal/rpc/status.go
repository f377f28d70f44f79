package rpc

import (
	"context"
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/postgres"
)

// Domain is the domain of every ErrorInfo that the server sends.
const Domain = "settlementd"

// retryDelay is what RetryInfo asks callers to wait.
const retryDelay = 200 * time.Millisecond

// fault is one row of the table of faults: how the server tells a caller of an error that is not about the call's content.
type fault struct {
	is     func(error) bool
	code   codes.Code
	reason string
	text   string
	retry  bool
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func classified(classes ...postgres.Class) func(error) bool {
	return func(err error) bool {
		for _, c := range classes {
			if postgres.Classify(err) == c {
				return true
			}
		}
		return false
	}
}

// faults are asked in this order: a connection that could not be made in its own time says so before the caller's deadline is looked at.
// What no row knows is INTERNAL, and hidden from the caller.
var faults = []fault{
	{is(lane.ErrBusy), codes.ResourceExhausted, "OVERLOADED", lane.ErrBusy.Error(), true},
	{is(lane.ErrClosed), codes.Unavailable, "SHUTTING_DOWN", lane.ErrClosed.Error(), true},
	{is(lane.ErrAborted), codes.Aborted, "LOST_RACE", lane.ErrAborted.Error() + "; try again", true},
	{is(lane.ErrUnavailable), codes.Unavailable, "LEDGER_UNAVAILABLE", lane.ErrUnavailable.Error() + "; try again with the same ids", true},
	{classified(postgres.Unavailable, postgres.LockTimeout, postgres.StatementTimeout), codes.Unavailable, "LEDGER_UNAVAILABLE", lane.ErrUnavailable.Error() + "; try again", true},
	{classified(postgres.Retryable, postgres.LostRace), codes.Aborted, "LOST_RACE", lane.ErrAborted.Error() + "; try again", true},
	{is(context.DeadlineExceeded), codes.DeadlineExceeded, "DEADLINE_EXCEEDED", "the deadline passed; the call may have been carried out, a retry with the same ids tells", false},
	{is(context.Canceled), codes.Canceled, "CANCELLED", "the caller went away", false},
}

// mistakes tells how a caller learns that its call has no answer.
var mistakes = map[ledger.ErrorKind]struct {
	code   codes.Code
	reason string
}{
	ledger.NotFound:      {codes.NotFound, "NOT_FOUND"},
	ledger.AlreadyExists: {codes.AlreadyExists, "CONTENT_DIFFERS"},
	ledger.Precondition:  {codes.FailedPrecondition, "PRECONDITION_FAILED"},
	ledger.Invalid:       {codes.InvalidArgument, "INVALID_ARGUMENT"},
}

// Status turns the error of a handler into a status with its details. A status stays as it is.
func Status(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	if le, ok := errors.AsType[*ledger.Error](err); ok {
		if m, ok := mistakes[le.Kind]; ok {
			return withField(m.code, m.reason, le.Field, le.Error())
		}
	}
	for _, f := range faults {
		if f.is(err) {
			details := []protoadapt.MessageV1{info(f.reason, "")}
			if f.retry {
				details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(retryDelay)})
			}
			return detailed(f.code, f.text, details...)
		}
	}
	return detailed(codes.Internal, "internal error", info("INTERNAL", ""))
}

// Failure makes a status with a reason of its own, and what a program needs to know beside it.
func Failure(code codes.Code, reason, text string, metadata map[string]string) error {
	return detailed(code, text, &errdetails.ErrorInfo{Reason: reason, Domain: Domain, Metadata: metadata})
}

// withField makes a status that names the field to blame.
func withField(code codes.Code, reason, field, text string) error {
	details := []protoadapt.MessageV1{info(reason, field)}
	if field != "" {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: text}}})
	}
	return detailed(code, text, details...)
}

func info(reason, field string) *errdetails.ErrorInfo {
	i := &errdetails.ErrorInfo{Reason: reason, Domain: Domain}
	if field != "" {
		i.Metadata = map[string]string{"field": field}
	}
	return i
}

func detailed(code codes.Code, text string, details ...protoadapt.MessageV1) error {
	s := status.New(code, text)
	if d, err := s.WithDetails(details...); err == nil {
		s = d
	}
	return s.Err()
}
