package fakeprovider_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/settlementd/settlementd/internal/fakeprovider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds a wait for something that must happen; it never decides what happens.
const patience = 20 * time.Second

// world is a provider with a worker.
type world struct {
	*fakeprovider.Server
	client *fakeprovider.Client
	clock  *fakeprovider.ManualClock
}

func start(t *testing.T, change ...func(*fakeprovider.Options)) *world {
	t.Helper()
	w := &world{clock: fakeprovider.NewManualClock(time.Unix(1_700_000_000, 0))}
	o := fakeprovider.Defaults()
	o.Clock = w.clock
	for _, f := range change {
		f(&o)
	}
	var err error
	if w.Server, err = fakeprovider.Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	w.client = newClient(t, w.URL(), patience)
	return w
}

func newClient(t *testing.T, url string, timeout time.Duration) *fakeprovider.Client {
	t.Helper()
	c, err := fakeprovider.NewClient(url, timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (w *world) script(t *testing.T, key string, s fakeprovider.GenerationScript) {
	t.Helper()
	if err := w.ScriptGeneration(key, s); err != nil {
		t.Fatal(err)
	}
}

func (w *world) scriptCheck(t *testing.T, key string, s fakeprovider.CheckScript) {
	t.Helper()
	if err := w.ScriptCheck(key, s); err != nil {
		t.Fatal(err)
	}
}

func (w *world) await(t *testing.T, key string, until func(fakeprovider.Counts) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.Await(ctx, key, until); err != nil {
		t.Fatal(err)
	}
}

// accept submits and wants a task.
func (w *world) accept(t *testing.T, key string, g fakeprovider.Generation) string {
	t.Helper()
	s := w.client.Submit(t.Context(), key, g)
	if s.Fact != fakeprovider.Accepted {
		t.Fatalf("submit %s: %+v, want ACCEPTED", key, s)
	}
	return s.TaskID
}

// background runs f and gives back what it returned.
func background[T any](f func() T) <-chan T {
	done := make(chan T, 1)
	go func() { done <- f() }()
	return done
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// do sends one request and returns status and body.
func do(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Add(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func cost(micros int64) *fakeprovider.Cost {
	return &fakeprovider.Cost{AmountMicros: micros, Currency: "USD"}
}
