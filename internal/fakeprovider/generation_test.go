package fakeprovider_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fake "github.com/settlementd/settlementd/internal/fakeprovider"
)

// TestEveryAnswer plays each answer that does not wait: what the worker learns, and what it really cost.
func TestEveryAnswer(t *testing.T) {
	for answer, want := range map[fake.Answer]struct {
		learnt fake.Submission // the task id apart
		paid   int64
	}{
		fake.Plainly:     {fake.Submission{Fact: fake.Accepted}, 1},
		fake.Refuse:      {fake.Submission{Fact: fake.Refused, Code: "content_policy", Cost: cost(0)}, 0},
		fake.NoTaskID:    {fake.Submission{Fact: fake.Uncertain, Cause: fake.NoTask}, 1},
		fake.Garbage:     {fake.Submission{Fact: fake.Uncertain, Cause: fake.Unreadable}, 1},
		fake.ErrorBefore: {fake.Submission{Fact: fake.Uncertain, Cause: fake.ServerError}, 0},
		fake.ErrorAfter:  {fake.Submission{Fact: fake.Uncertain, Cause: fake.ServerError}, 1},
		fake.CutBefore:   {fake.Submission{Fact: fake.Uncertain, Cause: fake.Transport}, 0},
		fake.CutAfter:    {fake.Submission{Fact: fake.Uncertain, Cause: fake.Transport}, 1},
	} {
		t.Run(string(answer), func(t *testing.T) {
			w := start(t)
			w.script(t, "K", fake.GenerationScript{Answers: []fake.Answer{answer}})
			got := w.client.Submit(t.Context(), "K", fake.Generation{})
			found := w.client.Lookup(t.Context(), "K")
			if (want.paid == 1) != (found.Fact == fake.Succeeded) || found.Fact == fake.Unknown {
				t.Errorf("look-up: %+v after %d paid POSTs", found, want.paid)
			}
			if got.Fact == fake.Accepted && got.TaskID != found.TaskID {
				t.Errorf("task %q answered, %q found", got.TaskID, found.TaskID)
			}
			got.TaskID = ""
			if diff := cmp.Diff(want.learnt, got); diff != "" {
				t.Errorf("learnt (-want +got):\n%s", diff)
			}
			counts := w.Counts("K").Generations
			if counts.Received != 1 || counts.Paid != want.paid || counts.ChargedMicros != 50_000*want.paid || len(w.Usage()) != int(want.paid) {
				t.Errorf("counts %+v, want 1 received and %d paid", counts, want.paid)
			}
		})
	}
}

func TestHangingAnswersTimeOut(t *testing.T) {
	for answer, paid := range map[fake.Answer]int64{fake.HangBefore: 0, fake.HangAfter: 1} {
		t.Run(string(answer), func(t *testing.T) {
			w := start(t)
			w.script(t, "K", fake.GenerationScript{Answers: []fake.Answer{answer}})
			hasty := newClient(t, w.URL(), 50*time.Millisecond)
			got := hasty.Submit(t.Context(), "K", fake.Generation{})
			if got.Fact != fake.Uncertain || got.Cause != fake.Timeout {
				t.Errorf("got %+v, want an uncertain timeout", got)
			}
			w.await(t, "K", func(c fake.Counts) bool {
				g := c.Generations
				return g.Received == 1 && g.Paid == paid && g.Held == 0
			})
		})
	}
}

func TestAReleaseCutsWhatHangs(t *testing.T) {
	w := start(t)
	w.script(t, "K", fake.GenerationScript{Answers: []fake.Answer{fake.HangAfter}})
	got := background(func() fake.Submission { return w.client.Submit(t.Context(), "K", fake.Generation{}) })
	w.await(t, "K", func(c fake.Counts) bool { return c.Generations.Held == 1 })
	if n := w.Release("K"); n != 1 {
		t.Errorf("released %d, want 1", n)
	}
	if s := receive(t, got); s.Fact != fake.Uncertain || s.Cause != fake.Transport {
		t.Errorf("got %+v", s)
	}
	if n := w.Release("K"); n != 0 {
		t.Errorf("released %d again", n)
	}
}

func TestAHeldAnswerComesLate(t *testing.T) {
	for answer, paid := range map[fake.Answer]int64{fake.HoldBefore: 0, fake.HoldAfter: 1} {
		t.Run(string(answer), func(t *testing.T) {
			w := start(t)
			w.script(t, "K", fake.GenerationScript{Answers: []fake.Answer{answer}})
			got := background(func() fake.Submission { return w.client.Submit(t.Context(), "K", fake.Generation{}) })
			w.await(t, "K", func(c fake.Counts) bool { return c.Generations.Held == 1 })
			if c := w.Counts("K").Generations; c.Paid != paid {
				t.Errorf("%d paid while held, want %d", c.Paid, paid)
			}
			w.Release("K")
			if s := receive(t, got); s.Fact != fake.Accepted {
				t.Errorf("got %+v", s)
			}
			if c := w.Counts("K").Generations; c.Paid != 1 || c.Held != 0 {
				t.Errorf("counts %+v after the release", c)
			}
		})
	}
}

// TestARequestArrivesAfterItsSenderGaveUp is the young 404: not found now, accepted and billed later.
func TestARequestArrivesAfterItsSenderGaveUp(t *testing.T) {
	w := start(t)
	w.script(t, "K", fake.GenerationScript{Answers: []fake.Answer{fake.HoldBefore}})
	ctx, giveUp := context.WithCancel(t.Context())
	got := background(func() fake.Submission { return w.client.Submit(ctx, "K", fake.Generation{}) })
	w.await(t, "K", func(c fake.Counts) bool { return c.Generations.Held == 1 })
	giveUp()
	if s := receive(t, got); s.Fact != fake.Uncertain || s.Cause != fake.Transport {
		t.Errorf("got %+v", s)
	}
	if o := w.client.Lookup(t.Context(), "K"); o.Fact != fake.NotFound {
		t.Errorf("look-up before: %+v", o)
	}
	w.Release("K")
	if o := w.client.Lookup(t.Context(), "K"); o.Fact != fake.Succeeded {
		t.Errorf("look-up after: %+v", o)
	}
	if c := w.Counts("K").Generations; c.Received != 1 || c.Paid != 1 || c.Polls != 2 {
		t.Errorf("counts %+v", c)
	}
}

func TestTheClockReleasesAHeldAnswer(t *testing.T) {
	w := start(t)
	w.script(t, "K", fake.GenerationScript{Answers: []fake.Answer{fake.HoldAfter}, HoldMillis: 1000})
	got := background(func() fake.Submission { return w.client.Submit(t.Context(), "K", fake.Generation{}) })
	w.await(t, "K", func(c fake.Counts) bool { return c.Generations.Held == 1 })
	w.clock.Advance(999 * time.Millisecond)
	if c := w.Counts("K").Generations; c.Held != 1 {
		t.Errorf("released early: %+v", c)
	}
	w.clock.Advance(time.Millisecond)
	if s := receive(t, got); s.Fact != fake.Accepted {
		t.Errorf("got %+v", s)
	}
}

func TestTheSameKeyNamesTheSameTask(t *testing.T) {
	w := start(t, func(o *fake.Options) { o.IdempotencyWindow = time.Hour })
	w.script(t, "K", fake.GenerationScript{Answers: []fake.Answer{fake.CutAfter, fake.Plainly}})
	if s := w.client.Submit(t.Context(), "K", fake.Generation{}); s.Fact != fake.Uncertain {
		t.Fatalf("got %+v", s)
	}
	first := w.accept(t, "K", fake.Generation{})
	w.clock.Advance(time.Hour - time.Nanosecond)
	if again := w.accept(t, "K", fake.Generation{}); again != first {
		t.Errorf("task %s, then %s", first, again)
	}
	if s := w.client.Submit(t.Context(), "K", fake.Generation{Input: "other"}); s.Fact != fake.Uncertain || s.Cause != fake.KeyReused {
		t.Errorf("another body: %+v", s)
	}
	if c := w.Counts("K").Generations; c.Received != 4 || c.Paid != 1 || c.Replayed != 2 {
		t.Errorf("counts %+v", c)
	}
	w.clock.Advance(time.Nanosecond)
	if other := w.accept(t, "K", fake.Generation{}); other == first {
		t.Error("the window is over, but the task is the same")
	}
	if c := w.Counts("K").Generations; c.Paid != 2 || c.ChargedMicros != 100_000 {
		t.Errorf("counts %+v after the window", c)
	}
}

func TestWithoutIdempotencyEveryPostIsPaid(t *testing.T) {
	w := start(t, func(o *fake.Options) { o.IdempotencyWindow = 0 })
	first, second := w.accept(t, "K", fake.Generation{}), w.accept(t, "K", fake.Generation{})
	if o := w.client.Lookup(t.Context(), "K"); first == second || o.TaskID != second {
		t.Errorf("tasks %s and %s, look-up %+v", first, second, o)
	}
	if c := w.Counts("K").Generations; c.Paid != 2 {
		t.Errorf("counts %+v", c)
	}
}

func TestParallelPostsOfOneKeyArePaidOnce(t *testing.T) {
	w := start(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if s := w.client.Submit(t.Context(), "K", fake.Generation{}); s.Fact != fake.Accepted {
				t.Errorf("got %+v", s)
			}
		})
	}
	wg.Wait()
	if c := w.Totals().Generations; c.Received != 50 || c.Paid != 1 || c.Replayed != 49 {
		t.Errorf("counts %+v", c)
	}
}

func TestARefusal(t *testing.T) {
	w := start(t)
	w.script(t, "K", fake.GenerationScript{
		Answers: []fake.Answer{fake.Refuse, fake.Refuse, fake.Plainly, fake.Refuse},
		Refusal: fake.Refusal{Status: http.StatusPaymentRequired, Code: "no_funds", CostMicros: 5},
	})
	want := fake.Submission{Fact: fake.Refused, Code: "no_funds", Cost: cost(5)}
	for range 2 {
		if diff := cmp.Diff(want, w.client.Submit(t.Context(), "K", fake.Generation{})); diff != "" {
			t.Errorf("refusal (-want +got):\n%s", diff)
		}
	}
	if c := w.Counts("K").Generations; c.Refused != 2 || c.Paid != 0 || c.ChargedMicros != 5 {
		t.Errorf("counts %+v, want the refusal billed once", c)
	}
	w.accept(t, "K", fake.Generation{})
	if s := w.client.Submit(t.Context(), "K", fake.Generation{}); s.Fact != fake.Refused {
		t.Errorf("a resend of accepted work: %+v, want the script's refusal", s)
	}
	w.script(t, "K2", fake.GenerationScript{Answers: []fake.Answer{fake.Refuse}, HideCost: true})
	if s := w.client.Submit(t.Context(), "K2", fake.Generation{}); s.Cost != nil {
		t.Errorf("hidden cost: %+v", s.Cost)
	}
}

func TestKeysOfEveryShape(t *testing.T) {
	w := start(t)
	for i, key := range []string{"a/b", "..", "%2F", "a?b&c=d", `"'`, "~!"} {
		task := w.accept(t, key, fake.Generation{Input: fmt.Sprint(i)})
		if o := w.client.Lookup(t.Context(), key); o.TaskID != task || o.Key != key {
			t.Errorf("look-up of %q: %+v", key, o)
		}
	}
}
