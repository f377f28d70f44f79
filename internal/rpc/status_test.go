package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/rpc"
)

// refused is the error of a connection that could not be made within its own time, which is nobody's deadline.
func refused(t *testing.T) error {
	t.Helper()
	config, err := pgx.ParseConfig("host=127.0.0.1 user=nobody sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, context.DeadlineExceeded }
	_, err = pgx.ConnectConfig(t.Context(), config)
	if err == nil {
		t.Fatal("connected")
	}
	return fmt.Errorf("read: %w", err)
}

func TestEveryErrorHasItsStatus(t *testing.T) {
	t.Parallel()
	sqlstate := func(code string) error {
		return fmt.Errorf("read: %w", &pgconn.PgError{Code: code, Severity: "ERROR", Message: "secret detail"})
	}
	mistake := func(kind ledger.ErrorKind) error {
		return fmt.Errorf("handler: %w", &ledger.Error{Kind: kind, Field: "account_id", Message: "secret no more"})
	}
	for name, c := range map[string]struct {
		err    error
		code   codes.Code
		reason string
		field  string
		again  bool // a hint when to come again
	}{
		"not found":           {mistake(ledger.NotFound), codes.NotFound, "NOT_FOUND", "account_id", false},
		"other content":       {mistake(ledger.AlreadyExists), codes.AlreadyExists, "CONTENT_DIFFERS", "account_id", false},
		"precondition":        {mistake(ledger.Precondition), codes.FailedPrecondition, "PRECONDITION_FAILED", "account_id", false},
		"invalid":             {mistake(ledger.Invalid), codes.InvalidArgument, "INVALID_ARGUMENT", "account_id", false},
		"broken":              {mistake(ledger.Broken), codes.Internal, "INTERNAL", "", false},
		"busy":                {lane.ErrBusy, codes.ResourceExhausted, "OVERLOADED", "", true},
		"closed":              {lane.ErrClosed, codes.Unavailable, "SHUTTING_DOWN", "", true},
		"lost race":           {fmt.Errorf("%w: %w", lane.ErrAborted, sqlstate("40001")), codes.Aborted, "LOST_RACE", "", true},
		"unavailable":         {fmt.Errorf("%w: %w", lane.ErrUnavailable, context.DeadlineExceeded), codes.Unavailable, "LEDGER_UNAVAILABLE", "", true},
		"internal":            {lane.ErrInternal, codes.Internal, "INTERNAL", "", false},
		"deadline":            {fmt.Errorf("read: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "DEADLINE_EXCEEDED", "", false},
		"the caller left":     {context.Canceled, codes.Canceled, "CANCELLED", "", false},
		"no connection":       {refused(t), codes.Unavailable, "LEDGER_UNAVAILABLE", "", true},
		"connection lost":     {fmt.Errorf("read: %w", net.ErrClosed), codes.Unavailable, "LEDGER_UNAVAILABLE", "", true},
		"database going away": {sqlstate("57P01"), codes.Unavailable, "LEDGER_UNAVAILABLE", "", true},
		"database full":       {sqlstate("53100"), codes.Unavailable, "LEDGER_UNAVAILABLE", "", true},
		"read-only":           {sqlstate("25006"), codes.Unavailable, "LEDGER_UNAVAILABLE", "", true},
		"lock":                {sqlstate("55P03"), codes.Unavailable, "LEDGER_UNAVAILABLE", "", true},
		"slow statement":      {sqlstate("57014"), codes.Unavailable, "LEDGER_UNAVAILABLE", "", true},
		"serialization":       {sqlstate("40001"), codes.Aborted, "LOST_RACE", "", true},
		"deadlock":            {sqlstate("40P01"), codes.Aborted, "LOST_RACE", "", true},
		"constraint":          {sqlstate("23514"), codes.Internal, "INTERNAL", "", false},
		"anything else":       {errors.New("secret"), codes.Internal, "INTERNAL", "", false},
	} {
		got := status.Convert(rpc.Status(c.err))
		if got.Code() != c.code {
			t.Errorf("%s: %v instead of %v", name, got.Code(), c.code)
		}
		info, bad, retry := details(got)
		if info.GetReason() != c.reason || info.GetDomain() != rpc.Domain || info.GetMetadata()["field"] != c.field {
			t.Errorf("%s: %v", name, info)
		}
		if c.field != "" && (len(bad.GetFieldViolations()) != 1 || bad.GetFieldViolations()[0].GetField() != c.field) {
			t.Errorf("%s: %v", name, bad)
		}
		if (retry.GetRetryDelay().AsDuration() > 0) != c.again {
			t.Errorf("%s: come again %v", name, retry)
		}
		if c.field == "" && strings.Contains(got.String(), "secret") {
			t.Errorf("%s tells what is none of the caller's: %v", name, got)
		}
	}
}

func TestAStatusStaysAsItIs(t *testing.T) {
	t.Parallel()
	if rpc.Status(nil) != nil {
		t.Error("no error became one")
	}
	want := rpc.Failure(codes.FailedPrecondition, "JOB_NOT_APPROVED", "job j is not approved", map[string]string{"job_id": "j"})
	got := rpc.Status(want)
	info, _, _ := details(status.Convert(got))
	if !errors.Is(got, want) || info.GetReason() != "JOB_NOT_APPROVED" || info.GetMetadata()["job_id"] != "j" {
		t.Errorf("%v", got)
	}
}

func details(s *status.Status) (info *errdetails.ErrorInfo, bad *errdetails.BadRequest, retry *errdetails.RetryInfo) {
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *errdetails.BadRequest:
			bad = d
		case *errdetails.RetryInfo:
			retry = d
		}
	}
	return info, bad, retry
}
