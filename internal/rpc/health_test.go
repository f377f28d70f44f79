package rpc_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

const (
	serving    = healthpb.HealthCheckResponse_SERVING
	notServing = healthpb.HealthCheckResponse_NOT_SERVING
)

// watch is a client that is told of every change.
type watch struct {
	t      *testing.T
	stream grpc.ServerStreamingClient[healthpb.HealthCheckResponse]
}

func (r *running) watch(t *testing.T, service string) *watch {
	t.Helper()
	stream, err := healthpb.NewHealthClient(r.conn).Watch(t.Context(), &healthpb.HealthCheckRequest{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	return &watch{t, stream}
}

// until returns when the server has said so.
func (w *watch) until(want healthpb.HealthCheckResponse_ServingStatus) {
	w.t.Helper()
	for {
		got, err := w.stream.Recv()
		if err != nil {
			w.t.Fatalf("never said %v: %v", want, err)
		}
		if got.GetStatus() == want {
			return
		}
	}
}

func TestHealthFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	away.Store(true)
	asked := make(chan struct{}, 1000)
	r := run(t, nil, func(context.Context) error {
		defer func() { asked <- struct{}{} }()
		if away.Load() {
			return errors.New("no database")
		}
		return nil
	})
	<-asked
	for _, name := range []string{"", settlementv1.ReservationService_ServiceDesc.ServiceName} {
		got, err := healthpb.NewHealthClient(r.conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
		if err != nil || got.GetStatus() != notServing {
			t.Errorf("%q without a database: %v %v", name, got, err)
		}
	}
	all, one := r.watch(t, ""), r.watch(t, settlementv1.ReservationService_ServiceDesc.ServiceName)
	away.Store(false)
	all.until(serving)
	one.until(serving)
	away.Store(true)
	all.until(notServing)
	one.until(notServing)
	if n := r.log.lines("level=ERROR", "not serving"); n != 2 {
		t.Errorf("%d lines tell that it is not serving", n)
	}
}

func TestHealthEndsWithTheServer(t *testing.T) {
	t.Parallel()
	r := run(t, nil, nil)
	w := r.watch(t, "")
	w.until(serving)
	entered, release := r.hanging()
	answer := make(chan error, 1)
	go func() { answer <- r.get(t.Context()) }()
	<-entered
	r.stop()
	w.until(notServing) // before the calls under way have ended
	close(release)
	if err := <-answer; err != nil {
		t.Error(err)
	}
	_ = r.conn.Close() // who watches would be waited for
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func TestTheServerTellsWhatItOffers(t *testing.T) {
	t.Parallel()
	r := run(t, nil, nil)
	stream, err := reflectionpb.NewServerReflectionClient(r.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{ListServices: "*"},
	}); err != nil {
		t.Fatal(err)
	}
	got, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, s := range got.GetListServicesResponse().GetService() {
		found[s.GetName()] = true
	}
	for _, want := range []string{settlementv1.ReservationService_ServiceDesc.ServiceName, healthpb.Health_ServiceDesc.ServiceName} {
		if !found[want] {
			t.Errorf("%s is not among %v", want, found)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the stream: %v", err)
	}
	if r.log.lines("level=DEBUG", "msg=call", "code=OK", "ServerReflectionInfo") != 1 {
		t.Error("the stream is not in the log")
	}
}
