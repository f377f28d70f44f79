package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Failure is a status of the server, with the reason and the fields that its details name.
type Failure struct {
	Status *status.Status
	reason string
	about  map[string]string
}

// Error says what the server says, and then the code, the reason, and what is to blame.
func (f *Failure) Error() string {
	parts := []string{code.Code(f.Status.Code()).String()}
	if f.reason != "" {
		parts = append(parts, "reason "+f.reason)
	}
	for _, key := range slices.Sorted(maps.Keys(f.about)) {
		parts = append(parts, key+" "+f.about[key])
	}
	return fmt.Sprintf("%s (%s)", f.Status.Message(), strings.Join(parts, ", "))
}

// explain keeps what a program would read from a status for a person to read. Other errors stay as they are.
func explain(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	f := &Failure{Status: s}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			f.reason, f.about = info.GetReason(), info.GetMetadata()
		}
	}
	return f
}

// failedWith tells whether the server has failed for a reason.
func failedWith(err error, reason string) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && f.reason == reason
}

// passes tells whether the same call may fare better another time.
func passes(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		return false
	}
	switch f.Status.Code() {
	case codes.Unavailable, codes.Aborted, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Canceled:
		return true
	default:
		return false
	}
}
