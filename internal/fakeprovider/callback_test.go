package fakeprovider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	fake "github.com/settlementd/settlementd/internal/fakeprovider"
)

// inbox receives callbacks.
type inbox struct {
	url    string
	got    chan fake.Observation
	status atomic.Int64
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{got: make(chan fake.Observation, 16)}
	in.status.Store(http.StatusNoContent)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o, err := fake.ReadCallback(r)
		if err != nil {
			t.Error(err)
		}
		in.got <- o
		w.WriteHeader(int(in.status.Load()))
	}))
	t.Cleanup(server.Close)
	in.url = server.URL + "/callbacks"
	return in
}

func delivered(n int64) func(fake.Counts) bool {
	return func(c fake.Counts) bool { return c.Generations.Callbacks == n }
}

func TestACallbackComesTwice(t *testing.T) {
	in, w := newInbox(t), start(t)
	w.script(t, "K", fake.GenerationScript{Callbacks: new(2)})
	task := w.accept(t, "K", fake.Generation{CallbackURL: in.url})
	want := fake.Observation{Fact: fake.Succeeded, Key: "K", TaskID: task, Cost: cost(50_000)}
	for range 2 {
		if diff := cmp.Diff(want, receive(t, in.got)); diff != "" {
			t.Errorf("callback (-want +got):\n%s", diff)
		}
	}
	w.await(t, "K", delivered(2))
}

func TestACallbackOvertakesTheAnswer(t *testing.T) {
	in, w := newInbox(t), start(t)
	w.script(t, "K", fake.GenerationScript{Answers: []fake.Answer{fake.HoldAfter}})
	got := background(func() fake.Submission {
		return w.client.Submit(t.Context(), "K", fake.Generation{CallbackURL: in.url})
	})
	o := receive(t, in.got)
	if c := w.Counts("K").Generations; c.Held != 1 {
		t.Errorf("counts %+v, want the answer still held", c)
	}
	w.Release("K")
	if s := receive(t, got); s.Fact != fake.Accepted || s.TaskID != o.TaskID {
		t.Errorf("callback %+v, answer %+v", o, s)
	}
}

// TestACallbackAfterALostAnswer is how a worker that timed out hears of its task.
func TestACallbackAfterALostAnswer(t *testing.T) {
	for _, answer := range []fake.Answer{fake.CutAfter, fake.ErrorAfter, fake.NoTaskID, fake.Garbage} {
		t.Run(string(answer), func(t *testing.T) {
			in, w := newInbox(t), start(t)
			w.script(t, "K", fake.GenerationScript{Answers: []fake.Answer{answer}, End: fake.TaskFailed})
			if s := w.client.Submit(t.Context(), "K", fake.Generation{CallbackURL: in.url}); s.Fact != fake.Uncertain {
				t.Errorf("got %+v", s)
			}
			if o := receive(t, in.got); o.Fact != fake.Failed || o.Key != "K" {
				t.Errorf("got %+v", o)
			}
		})
	}
}

func TestACallbackComesAtEveryEnd(t *testing.T) {
	in, w := newInbox(t), start(t)
	w.script(t, "polled", fake.GenerationScript{PendingPolls: 1})
	w.script(t, "finished", fake.GenerationScript{End: fake.TaskPending})
	w.script(t, "timed", fake.GenerationScript{EndAfterMillis: 1})
	w.script(t, "silent", fake.GenerationScript{Callbacks: new(0)})
	g := fake.Generation{CallbackURL: in.url}
	for _, key := range []string{"polled", "finished", "timed", "silent"} {
		w.accept(t, key, g)
	}
	w.client.Lookup(t.Context(), "polled")
	if o := receive(t, in.got); o.Key != "polled" {
		t.Errorf("got %+v", o)
	}
	if err := w.Finish("finished", fake.TaskFailed); err != nil {
		t.Fatal(err)
	}
	if o := receive(t, in.got); o.Key != "finished" || o.Fact != fake.Failed {
		t.Errorf("got %+v", o)
	}
	w.clock.Advance(1_000_000)
	if o := receive(t, in.got); o.Key != "timed" {
		t.Errorf("got %+v", o)
	}
	w.await(t, "", delivered(3))
}

func TestOneMoreCallback(t *testing.T) {
	in, w := newInbox(t), start(t)
	w.script(t, "K", fake.GenerationScript{Callbacks: new(0)})
	w.accept(t, "K", fake.Generation{CallbackURL: in.url})
	in.status.Store(http.StatusNotFound) // a callback can be earlier than what it is about
	for _, of := range []struct {
		say  fake.TaskStatus
		want fake.Fact
	}{{"", fake.Succeeded}, {fake.TaskFailed, fake.Failed}, {fake.TaskPending, fake.Pending}} {
		status, err := w.SendCallback(t.Context(), "K", of.say)
		if err != nil || status != http.StatusNotFound {
			t.Errorf("status %d, error %v", status, err)
		}
		if o := receive(t, in.got); o.Fact != of.want {
			t.Errorf("got %+v, want %s", o, of.want)
		}
	}
	if c := w.Counts("K").Generations; c.Callbacks != 0 || c.CallbacksFailed != 3 {
		t.Errorf("counts %+v", c)
	}
}

func TestACallbackThatCannotBeSent(t *testing.T) {
	w := start(t)
	w.accept(t, "K", fake.Generation{})
	for name, of := range map[string]struct {
		key    string
		status fake.TaskStatus
		want   error
	}{
		"no URL":         {"K", "", fake.ErrConflict},
		"no task":        {"L", "", fake.ErrUnknown},
		"unknown status": {"K", "odd", fake.ErrInvalid},
	} {
		if _, err := w.SendCallback(t.Context(), of.key, of.status); !errors.Is(err, of.want) {
			t.Errorf("%s: %v, want %v", name, err, of.want)
		}
	}
}

func TestCloseStopsACallbackUnderWay(t *testing.T) {
	arrived := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does net/http notice that the sender has left
		close(arrived)
		<-r.Context().Done()
	}))
	defer receiver.Close()
	w := start(t)
	w.accept(t, "K", fake.Generation{CallbackURL: receiver.URL})
	receive(t, arrived)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.SendCallback(context.Background(), "K", ""); err == nil {
		t.Error("a closed provider sent a callback")
	}
}
