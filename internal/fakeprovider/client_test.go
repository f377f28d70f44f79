package fakeprovider_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	fake "github.com/settlementd/settlementd/internal/fakeprovider"
)

// TestABrokenConnectionIsNoSecondPost: net/http would send a POST with an Idempotency-Key again by itself when a connection that it
// kept breaks. The first call makes sure that there is a kept one.
func TestABrokenConnectionIsNoSecondPost(t *testing.T) {
	w := start(t)
	w.script(t, "K", fake.GenerationScript{Answers: []fake.Answer{fake.CutAfter, fake.Plainly}})
	w.scriptCheck(t, "C", fake.CheckScript{Answers: []fake.Answer{fake.CutAfter, fake.Plainly}})
	w.client.Lookup(t.Context(), "other")
	if s := w.client.Submit(t.Context(), "K", fake.Generation{}); s.Fact != fake.Uncertain {
		t.Errorf("got %+v", s)
	}
	w.client.Lookup(t.Context(), "other")
	if v := w.client.Check(t.Context(), "C", input); v.Fact != fake.Unavailable {
		t.Errorf("got %+v", v)
	}
	if n := w.Totals(); n.Generations.Received != 1 || n.Checks.Received != 1 {
		t.Errorf("counts %+v, want one POST each", n)
	}
}

func TestARedirectIsNoSecondPost(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, "/v1/generations", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	c := newClient(t, server.URL, patience)
	s := c.Submit(t.Context(), "K", fake.Generation{})
	if s.Fact != fake.Uncertain || requests.Load() != 1 {
		t.Errorf("got %+v after %d requests", s, requests.Load())
	}
	o := c.Lookup(t.Context(), "K")
	if o.Fact != fake.Unknown || requests.Load() != 2 {
		t.Errorf("got %+v after %d requests", o, requests.Load())
	}
}

func TestNothingWasSent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	nobody := newClient(t, url, patience)
	if s := nobody.Submit(t.Context(), "K", fake.Generation{}); s.Fact != fake.NotSent {
		t.Errorf("nobody listens: %+v", s)
	}
	if v := nobody.Check(t.Context(), "K", input); v.Fact != fake.NotSent {
		t.Errorf("nobody listens: %+v", v)
	}
	if o := nobody.Lookup(t.Context(), "K"); o.Fact != fake.Unknown || o.Cause != fake.Transport {
		t.Errorf("nobody listens: %+v", o)
	}
	w := start(t)
	if s := w.client.Submit(t.Context(), "line\nbreak", fake.Generation{}); s.Fact != fake.NotSent {
		t.Errorf("a key that is no header: %+v", s)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if s := w.client.Submit(gone, "K", fake.Generation{}); s.Fact != fake.NotSent {
		t.Errorf("given up before: %+v", s)
	}
	if n := w.Totals().Generations.Received; n != 0 {
		t.Errorf("%d POSTs arrived", n)
	}
}

// TestOnlyADefiniteNoIsARefusal feeds the client answers of proxies, of overloaded servers and of providers that speak strangely.
func TestOnlyADefiniteNoIsARefusal(t *testing.T) {
	const no = `{"error": {"code": "no", "message": "no"}}`
	for _, of := range []struct {
		name   string
		status int
		body   string
		fact   fake.Fact
		cause  fake.Cause
	}{
		{"a no", 400, no, fake.Refused, ""},
		{"rate limited", 429, no, fake.Refused, ""},
		{"proxy's 404", 404, "404 page not found", fake.Uncertain, fake.ServerError},
		{"4xx without a code", 403, `{"error": {}}`, fake.Uncertain, fake.ServerError},
		{"too slow", 408, no, fake.Uncertain, fake.ServerError},
		{"in the way", 409, no, fake.Uncertain, fake.ServerError},
		{"too early", 425, no, fake.Uncertain, fake.ServerError},
		{"error", 500, no, fake.Uncertain, fake.ServerError},
		{"bad gateway", 502, "", fake.Uncertain, fake.ServerError},
		{"no content", 204, "", fake.Uncertain, fake.Unreadable},
		{"empty id", 200, `{"task_id": "", "request_key": "K"}`, fake.Uncertain, fake.NoTask},
		{"bad id", 200, `{"task_id": "a b", "request_key": "K"}`, fake.Uncertain, fake.NoTask},
		{"another key", 200, `{"task_id": "T", "request_key": "L"}`, fake.Uncertain, fake.Unreadable},
		{"a flood", 200, `{"task_id": "T", "request_key": "K", "x": "` + strings.Repeat("x", 1<<20) + `"}`, fake.Uncertain, fake.Unreadable},
	} {
		t.Run(of.name, func(t *testing.T) {
			s := newClient(t, answering(t, of.status, of.body), patience).Submit(t.Context(), "K", fake.Generation{})
			if s.Fact != of.fact || s.Cause != of.cause {
				t.Errorf("got %+v, want %s %s", s, of.fact, of.cause)
			}
		})
	}
}

func TestOnlyTheProvidersOwn404IsNotFound(t *testing.T) {
	for _, of := range []struct {
		name   string
		status int
		body   string
		fact   fake.Fact
	}{
		{"not found", 404, `{"error": {"code": "not_found"}}`, fake.NotFound},
		{"proxy's 404", 404, "404 page not found", fake.Unknown},
		{"error", 500, "", fake.Unknown},
		{"another task", 200, `{"task_id": "U", "request_key": "L", "status": "succeeded"}`, fake.Unknown},
		{"odd status", 200, `{"task_id": "T", "request_key": "K", "status": "odd"}`, fake.Unknown},
		{"no key", 200, `{"task_id": "T", "status": "succeeded"}`, fake.Unknown},
		{"no JSON", 200, `succeeded`, fake.Unknown},
	} {
		t.Run(of.name, func(t *testing.T) {
			c := newClient(t, answering(t, of.status, of.body), patience)
			if o := c.Status(t.Context(), "T"); o.Fact != of.fact {
				t.Errorf("status: %+v, want %s", o, of.fact)
			}
			if o := c.Lookup(t.Context(), "K"); o.Fact != of.fact {
				t.Errorf("look-up: %+v, want %s", o, of.fact)
			}
		})
	}
}

func TestAVerdictThatContradictsItselfIsUnusable(t *testing.T) {
	for _, body := range []string{
		`{"request_key": "C", "verdict": "pass", "categories": ["hate"]}`,
		`{"request_key": "C", "verdict": "reject"}`,
		`{"request_key": "C", "verdict": "maybe"}`,
		`{"request_key": "D", "verdict": "pass"}`,
		``,
	} {
		v := newClient(t, answering(t, 200, body), patience).Check(t.Context(), "C", input)
		if v.Fact != fake.Unavailable || v.Cause != fake.UnusableVerdict {
			t.Errorf("%s: %+v", body, v)
		}
	}
}

func TestAnAnswerCutInItsMiddleIsUncertain(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"task_id": "T", "request_key": "K"}`)
	}))
	defer server.Close()
	if s := newClient(t, server.URL, patience).Submit(t.Context(), "K", fake.Generation{}); s.Fact != fake.Uncertain || s.Cause != fake.Transport {
		t.Errorf("got %+v", s)
	}
}

func TestAClientWantsAURLAndATimeout(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:8089", "ftp://127.0.0.1", "http://", "http://%"} {
		if _, err := fake.NewClient(url, time.Second); err == nil {
			t.Errorf("URL %q was taken", url)
		}
	}
	if _, err := fake.NewClient("http://127.0.0.1", 0); err == nil {
		t.Error("timeout 0 was taken")
	}
}

func TestACallbackThatSaysNothing(t *testing.T) {
	for _, body := range []string{"", "{}", `{"task_id": "T", "request_key": "K", "status": "odd"}`} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		if o, err := fake.ReadCallback(r); err == nil {
			t.Errorf("%q: %+v", body, o)
		}
	}
}

// answering serves one answer to everything.
func answering(t *testing.T, status int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
