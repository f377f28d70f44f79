package fakeprovider_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fake "github.com/settlementd/settlementd/internal/fakeprovider"
)

func TestATaskIsNotFoundThenPendingThenEnded(t *testing.T) {
	w := start(t)
	w.script(t, "K", fake.GenerationScript{NotFoundPolls: 2, PendingPolls: 2, CostMicros: new(int64(90))})
	task := w.accept(t, "K", fake.Generation{})
	got := []fake.Observation{
		w.client.Status(t.Context(), task),
		w.client.Lookup(t.Context(), "K"),
		w.client.Lookup(t.Context(), "K"),
		w.client.Status(t.Context(), task),
		w.client.Status(t.Context(), task),
	}
	pending := fake.Observation{Fact: fake.Pending, Key: "K", TaskID: task}
	want := []fake.Observation{
		{Fact: fake.NotFound}, {Fact: fake.NotFound}, pending, pending,
		{Fact: fake.Succeeded, Key: "K", TaskID: task, Cost: cost(90)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("observations (-want +got):\n%s", diff)
	}
	if c := w.Counts("K").Generations; c.Polls != 5 {
		t.Errorf("counts %+v", c)
	}
}

func TestAFailedTaskHasACodeAndACost(t *testing.T) {
	for name, of := range map[string]struct {
		script fake.GenerationScript
		code   string
		cost   *fake.Cost
		billed int64
	}{
		"usual":       {fake.GenerationScript{}, "generation_failed", cost(50_000), 50_000},
		"free":        {fake.GenerationScript{CostMicros: new(int64(0)), FailureCode: "out_of_memory"}, "out_of_memory", cost(0), 0},
		"hidden cost": {fake.GenerationScript{CostMicros: new(int64(37)), HideCost: true}, "generation_failed", nil, 37},
		"wrong cost":  {fake.GenerationScript{CostMicros: new(int64(37)), ToldCostMicros: new(int64(-1))}, "generation_failed", cost(-1), 37},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			of.script.End = fake.TaskFailed
			w.script(t, "K", of.script)
			task := w.accept(t, "K", fake.Generation{})
			want := fake.Observation{Fact: fake.Failed, Key: "K", TaskID: task, Code: of.code, Cost: of.cost}
			if diff := cmp.Diff(want, w.client.Status(t.Context(), task)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			bill := []fake.Charge{{RequestKey: "K", TaskID: task, CostMicros: of.billed, Currency: "USD"}}
			if diff := cmp.Diff(bill, w.Usage()); diff != "" {
				t.Errorf("statement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheClockEndsATask(t *testing.T) {
	w := start(t)
	w.script(t, "K", fake.GenerationScript{EndAfterMillis: 5000})
	task := w.accept(t, "K", fake.Generation{})
	w.clock.Advance(4999 * time.Millisecond)
	if o := w.client.Status(t.Context(), task); o.Fact != fake.Pending {
		t.Errorf("too early: %+v", o)
	}
	w.clock.Advance(time.Millisecond)
	if o := w.client.Status(t.Context(), task); o.Fact != fake.Succeeded {
		t.Errorf("in time: %+v", o)
	}
}

func TestAPendingTaskIsFinishedByHand(t *testing.T) {
	w := start(t)
	w.script(t, "", fake.GenerationScript{End: fake.TaskPending})
	task := w.accept(t, "K", fake.Generation{})
	for range 3 {
		if o := w.client.Status(t.Context(), task); o.Fact != fake.Pending {
			t.Fatalf("got %+v", o)
		}
	}
	if err := w.Finish("K", fake.TaskPending); !errors.Is(err, fake.ErrInvalid) {
		t.Errorf("finish as pending: %v", err)
	}
	if err := w.Finish("other", fake.TaskFailed); !errors.Is(err, fake.ErrUnknown) {
		t.Errorf("finish of an unknown key: %v", err)
	}
	if err := w.Finish("K", fake.TaskFailed); err != nil {
		t.Fatal(err)
	}
	if o := w.client.Status(t.Context(), task); o.Fact != fake.Failed {
		t.Errorf("got %+v", o)
	}
	if err := w.Finish("K", fake.TaskSucceeded); !errors.Is(err, fake.ErrConflict) {
		t.Errorf("second end: %v", err)
	}
}

// TestTaskIDsAreTheSameInEveryRun holds so that a restart of the provider makes no id twice for different keys.
func TestTaskIDsAreTheSameInEveryRun(t *testing.T) {
	one, two := start(t), start(t)
	first := one.accept(t, "K", fake.Generation{})
	if other := two.accept(t, "L", fake.Generation{}); other == first {
		t.Errorf("keys K and L share task %s", first)
	}
	if same := two.accept(t, "K", fake.Generation{}); same != first {
		t.Errorf("task %s in one run, %s in the other", first, same)
	}
	one.Reset()
	if same := one.accept(t, "K", fake.Generation{}); same != first {
		t.Errorf("task %s before the reset, %s after", first, same)
	}
}
