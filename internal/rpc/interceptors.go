package rpc

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type interceptors struct {
	config Config
}

// panicked keeps a handler's panic in the log and away from the caller.
func (i *interceptors) panicked(_ context.Context, p any) error {
	i.config.Log.Error("a handler panicked", "panic", p, "stack", string(debug.Stack()))
	return detailed(codes.Internal, "internal error", info("INTERNAL", ""))
}

// unary is what every call passes. A call without a deadline gets one, so that nothing waits for ever, its message is held against the rules
// in its proto, its error becomes what callers see, and the log tells of it if it failed or took long, or at debug level.
//
// It is one function, no chain, and recovers by itself: the goroutine of a call starts with 8 kB of stack, and the rules of nested messages
// leave just these few frames. With more of them nearly every Settle outgrows it, and to copy them all is a twelfth of the server's time.
func (i *interceptors) unary() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, call *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		start := time.Now()
		defer func() {
			if p := recover(); p != nil {
				resp, err = nil, i.panicked(ctx, p)
			}
		}()
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, i.config.CallTimeout)
			defer cancel()
		}
		if err = validate(req); err == nil {
			resp, err = handler(ctx, req)
		}
		err = i.convert(ctx, call.FullMethod, err)
		took := time.Since(start)
		i.tell(ctx, call.FullMethod, took, took > i.config.SlowCall, err)
		return resp, err
	}
}

// stream does the same for a stream, but for the deadline: it lasts as long as its client goes on, so none is slow either. Its messages are
// held against the rules as they come.
func (i *interceptors) stream(srv any, stream grpc.ServerStream, call *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	start := time.Now()
	err := i.convert(stream.Context(), call.FullMethod, handler(srv, validatedStream{reader{stream}}))
	i.tell(stream.Context(), call.FullMethod, time.Since(start), false, err)
	return err
}

func (i *interceptors) tell(ctx context.Context, method string, took time.Duration, slow bool, err error) {
	code, level := status.Code(err), slog.LevelDebug
	switch {
	case code == codes.Internal || code == codes.Unknown:
		level = slog.LevelError
	case code != codes.OK:
		level = slog.LevelInfo
	case slow:
		level = slog.LevelWarn
	}
	if !i.config.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("method", method), slog.String("code", code.String()), slog.Duration("took", took)}
	if err != nil {
		attrs = append(attrs, slog.String("error", status.Convert(err).Message()))
	}
	i.config.Log.LogAttrs(ctx, level, "call", attrs...)
}

// convert makes a status of an error, and logs what the status hides.
func (i *interceptors) convert(ctx context.Context, method string, err error) error {
	if err == nil {
		return nil
	}
	converted := Status(err)
	if hidden(status.Code(converted)) {
		i.config.Log.LogAttrs(ctx, slog.LevelError, "fault", slog.String("method", method), slog.Any("error", err))
	}
	return converted
}

// hidden tells whether a status keeps its cause from the caller.
func hidden(c codes.Code) bool { return c == codes.Internal || c == codes.Unavailable }
