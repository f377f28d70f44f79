// Package command is what the commands of settlementd reconcile do: ask a running server, and show what it answers to people as tables or to
// programs as JSON. It decides nothing; the rules are the server's.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
)

// Output is the form of answers.
type Output string

// The forms.
const (
	Table Output = "table" // for people
	JSON  Output = "json"  // for programs
)

// Session is a command's connection to a server, and where its answers go.
type Session struct {
	Conn   grpc.ClientConnInterface
	Tenant string
	Output Output
	Out    io.Writer // answers
	Notes  io.Writer // progress, and what else a person would like to know
	Live   bool      // notes go to a terminal
}

// UsageError says that a command was not understood. Nothing was sent.
type UsageError struct{ Err error }

// Error is the mistake.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap is the mistake.
func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

const (
	// connectTime is how long a server may take to answer at all.
	connectTime = 2 * time.Second
	// callTime bounds a call that answers once.
	callTime = 30 * time.Second
	// messageBytesMax lets the largest plans and reports in.
	messageBytesMax = 64 << 20
)

// Connect reaches a server, or says why nobody can. The caller closes the connection.
func Connect(ctx context.Context, address string) (*grpc.ClientConn, error) {
	var last atomic.Pointer[error] // why dialling failed; gRPC keeps it to itself
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			last.Store(&err)
		}
		return c, err
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytesMax)))
	if err != nil {
		return nil, usage("server %s: %w", address, err)
	}
	waiting, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if state != connectivity.TransientFailure && conn.WaitForStateChange(waiting, state) {
			continue
		}
		_ = conn.Close()
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		return nil, unreachable(address, last.Load())
	}
	return conn, nil
}

func unreachable(address string, why *error) error {
	err := fmt.Errorf("it does not speak gRPC within %s", connectTime)
	if why != nil && !errors.Is(*why, context.Canceled) {
		err = *why
	}
	return fmt.Errorf("no server answers at %s: %w; start one with \"settlementd serve\", or name it with --server", address, err)
}

// call asks once, with an end to waiting.
func call[Req, Resp any](ctx context.Context, method func(context.Context, Req, ...grpc.CallOption) (Resp, error), req Req) (Resp, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	resp, err := method(ctx, req)
	return resp, explain(err)
}
