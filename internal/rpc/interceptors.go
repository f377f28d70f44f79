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
func (i interceptors) panicked(_ context.Context, p any) error {
	i.config.Log.Error("a handler panicked", "panic", p, "stack", string(debug.Stack()))
	return detailed(codes.Internal, "internal error", info("INTERNAL", ""))
}

// log tells of calls that failed or took long, and of every call at debug level.
func (i interceptors) log(ctx context.Context, req any, call *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	start := time.Now()
	resp, err := handler(ctx, req)
	took := time.Since(start)
	i.tell(ctx, call.FullMethod, took, took > i.config.SlowCall, err)
	return resp, err
}

// streamLog does the same for streams. How long one takes is up to its client, so none is slow.
func (i interceptors) streamLog(srv any, stream grpc.ServerStream, call *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	start := time.Now()
	err := handler(srv, stream)
	i.tell(stream.Context(), call.FullMethod, time.Since(start), false, err)
	return err
}

func (i interceptors) tell(ctx context.Context, method string, took time.Duration, slow bool, err error) {
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

// deadline gives a call without a deadline one, so that nothing waits for ever. A stream has none: it lasts as long as its client goes on.
func (i interceptors) deadline(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if _, ok := ctx.Deadline(); ok {
		return handler(ctx, req)
	}
	ctx, cancel := context.WithTimeout(ctx, i.config.CallTimeout)
	defer cancel()
	return handler(ctx, req)
}

// status turns the handler's error into what callers see. What is hidden from them is logged.
func (i interceptors) status(ctx context.Context, req any, call *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	resp, err := handler(ctx, req)
	return resp, i.convert(ctx, call.FullMethod, err)
}

func (i interceptors) streamStatus(srv any, stream grpc.ServerStream, call *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return i.convert(stream.Context(), call.FullMethod, handler(srv, reader{stream}))
}

func (i interceptors) convert(ctx context.Context, method string, err error) error {
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
