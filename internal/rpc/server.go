package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
)

// Config is how the server treats calls.
type Config struct {
	CallTimeout     time.Duration // of a call that brings no deadline
	SlowCall        time.Duration // from here on an answered call is logged
	ShutdownTimeout time.Duration // how long calls under way may take once the server is to end
	MessageBytesMax int
	Log             *slog.Logger
}

// Server is the gRPC server with what every call passes.
type Server struct {
	grpc   *grpc.Server
	health *readiness
	config Config
}

// New makes a server with health and reflection. Register adds the services.
func New(config Config, ready Probe, register func(grpc.ServiceRegistrar)) (*Server, error) {
	if _, err := validator(); err != nil {
		return nil, fmt.Errorf("rpc: the validation rules of the protos: %w", err)
	}
	i := &interceptors{config: config}
	panicked := recovery.WithRecoveryHandlerContext(i.panicked)
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(config.MessageBytesMax),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(i.unary()),
		grpc.ChainStreamInterceptor(recovery.StreamServerInterceptor(panicked), i.stream),
	)
	register(readers{s})
	reflection.Register(s)
	return &Server{grpc: s, health: newReadiness(s, ready, config.Log), config: config}, nil
}

// Serve answers calls until ctx ends. Then it says that it is not serving, takes no more calls, and gives those under way the shutdown
// time before it cuts them off.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	watching := make(chan struct{})
	watch, stop := context.WithCancel(ctx)
	go func() {
		defer close(watching)
		s.health.watch(watch)
	}()
	served := make(chan error, 1)
	go func() { served <- s.grpc.Serve(l) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		s.health.shutdown()
		s.drain()
		err = <-served
	}
	stop()
	<-watching
	return err
}

func (s *Server) drain() {
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	timer := time.NewTimer(s.config.ShutdownTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		s.grpc.Stop()
		<-done
	}
}
