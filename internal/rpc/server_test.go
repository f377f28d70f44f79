package rpc_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/rpc"
)

// service answers GetReservation as a test says.
type service struct {
	settlementv1.UnimplementedReservationServiceServer
	get func(context.Context) error
}

func (s *service) GetReservation(ctx context.Context, _ *settlementv1.GetReservationRequest) (*settlementv1.GetReservationResponse, error) {
	if err := s.get(ctx); err != nil {
		return nil, err
	}
	return &settlementv1.GetReservationResponse{}, nil
}

// running is a server with a client for it.
type running struct {
	service *service
	conn    *grpc.ClientConn
	client  settlementv1.ReservationServiceClient
	log     *records
	stop    func()     // as SIGTERM would
	ended   chan error // what Serve returned
}

func run(t *testing.T, change func(*rpc.Config), ready rpc.Probe) *running {
	t.Helper()
	r := &running{service: &service{get: func(context.Context) error { return nil }}, log: &records{}, ended: make(chan error, 1)}
	config := rpc.Config{
		CallTimeout: time.Minute, SlowCall: time.Minute, ShutdownTimeout: time.Minute, MessageBytesMax: 1 << 20,
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&config)
	}
	if ready == nil {
		ready = func(context.Context) error { return nil }
	}
	server, err := rpc.New(config, ready, func(s grpc.ServiceRegistrar) {
		settlementv1.RegisterReservationServiceServer(s, r.service)
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	served := make(chan struct{})
	go func() {
		defer close(served)
		r.ended <- server.Serve(ctx, l)
	}()
	r.conn, err = grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	r.client = settlementv1.NewReservationServiceClient(r.conn)
	t.Cleanup(func() {
		_ = r.conn.Close()
		stop()
		<-served
	})
	return r
}

func (r *running) get(ctx context.Context) error {
	_, err := r.client.GetReservation(ctx, &settlementv1.GetReservationRequest{TenantId: "acme", ReservationId: "r1"})
	return err
}

// records is a log that tests read.
type records struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *records) lines(parts ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for line := range strings.Lines(r.text.String()) {
		found := true
		for _, p := range parts {
			found = found && strings.Contains(line, p)
		}
		if found {
			n++
		}
	}
	return n
}

func TestAMessageThatBreaksItsRulesNamesTheField(t *testing.T) {
	t.Parallel()
	r := run(t, nil, nil)
	r.service.get = func(context.Context) error { return errors.New("the handler was asked") }
	_, err := r.client.GetReservation(t.Context(), &settlementv1.GetReservationRequest{TenantId: "acme", ReservationId: "a b"})
	info, bad, _ := details(status.Convert(err))
	if status.Code(err) != codes.InvalidArgument || info.GetMetadata()["field"] != "reservation_id" || bad.GetFieldViolations()[0].GetField() != "reservation_id" {
		t.Errorf("%v: %v %v", err, info, bad)
	}
}

func TestAMessageThatIsTooLarge(t *testing.T) {
	t.Parallel()
	r := run(t, func(c *rpc.Config) { c.MessageBytesMax = 1024 }, nil)
	_, err := r.client.GetReservation(t.Context(), &settlementv1.GetReservationRequest{TenantId: "acme", ReservationId: strings.Repeat("x", 2000)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
}

func TestAPanicIsHiddenAndLogged(t *testing.T) {
	t.Parallel()
	r := run(t, nil, nil)
	r.service.get = func(context.Context) error { panic("a secret") }
	err := r.get(t.Context())
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if r.log.lines("level=ERROR", "a secret", "server_test.go") != 1 {
		t.Error("the panic and where it came from are not in the log")
	}
	r.service.get = func(context.Context) error { return nil }
	if err := r.get(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestEveryCallHasADeadline(t *testing.T) {
	t.Parallel()
	r := run(t, func(c *rpc.Config) { c.CallTimeout = 50 * time.Millisecond }, nil)
	r.service.get = func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := r.get(context.Background()); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("without a deadline of its own: %v", err)
	}
	want := time.Now().Add(time.Hour)
	r.service.get = func(ctx context.Context) error {
		if d, ok := ctx.Deadline(); !ok || d.Sub(want).Abs() > time.Minute {
			return errors.New("another deadline")
		}
		return nil
	}
	ctx, cancel := context.WithDeadline(t.Context(), want)
	defer cancel()
	if err := r.get(ctx); err != nil {
		t.Errorf("with a deadline of its own: %v", err)
	}
}

func TestWhatIsLogged(t *testing.T) {
	t.Parallel()
	r := run(t, func(c *rpc.Config) { c.SlowCall = 0 }, nil)
	for _, c := range []struct {
		err  error
		want []string
	}{
		{nil, []string{"level=WARN", "code=OK"}}, // slow, by this setting
		{context.DeadlineExceeded, []string{"level=INFO", "code=DeadlineExceeded"}},
		{errors.New("a secret"), []string{"level=ERROR", "msg=fault", "a secret"}},
		{errors.New("another"), []string{"level=ERROR", "msg=call", "code=Internal"}},
	} {
		r.service.get = func(context.Context) error { return c.err }
		if err := r.get(t.Context()); (err == nil) != (c.err == nil) {
			t.Error(err)
		}
		if r.log.lines(append(c.want, "GetReservation")...) == 0 {
			t.Errorf("%v: no line with %q", c.err, c.want)
		}
	}
	fast := run(t, nil, nil)
	if err := fast.get(t.Context()); err != nil || fast.log.lines("level=DEBUG", "code=OK") != 1 {
		t.Errorf("a call that is neither slow nor failed is logged at debug level only: %v", err)
	}
}

// hanging has calls wait until the test lets them go on, or their context ends.
func (r *running) hanging() (entered, release chan struct{}) {
	entered, release = make(chan struct{}, 100), make(chan struct{})
	r.service.get = func(ctx context.Context) error {
		entered <- struct{}{}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return entered, release
}

func TestCallsUnderWayAreAnsweredBeforeTheEnd(t *testing.T) {
	t.Parallel()
	r := run(t, nil, nil)
	entered, release := r.hanging()
	answer := make(chan error, 1)
	go func() { answer <- r.get(t.Context()) }()
	<-entered
	r.stop()
	refused := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return status.Code(r.get(ctx)) == codes.Unavailable
	}
	for deadline := time.Now().Add(time.Minute); !refused(); {
		if time.Now().After(deadline) {
			t.Fatal("it goes on taking calls")
		}
	}
	select {
	case err := <-r.ended:
		t.Fatalf("it ended with a call under way: %v", err)
	default:
	}
	close(release)
	if err := <-answer; err != nil {
		t.Errorf("the call under way: %v", err)
	}
	if err := <-r.ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestCallsThatTakeTooLongAreCutOff(t *testing.T) {
	t.Parallel()
	r := run(t, func(c *rpc.Config) { c.ShutdownTimeout = 0 }, nil)
	entered, _ := r.hanging()
	answer := make(chan error, 1)
	go func() { answer <- r.get(context.Background()) }()
	<-entered
	r.stop()
	if err := <-answer; status.Code(err) != codes.Unavailable {
		t.Errorf("the call under way: %v", err)
	}
	if err := <-r.ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestAListenerThatFailsEndsTheServer(t *testing.T) {
	t.Parallel()
	server, err := rpc.New(rpc.Config{Log: slog.New(slog.DiscardHandler), MessageBytesMax: 1024},
		func(context.Context) error { return nil }, func(grpc.ServiceRegistrar) {})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := server.Serve(t.Context(), l); err == nil {
		t.Error("no error")
	}
}
