package fakeprovider_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fake "github.com/settlementd/settlementd/internal/fakeprovider"
)

var input = fake.Check{Stage: "INPUT"}

func TestEveryVerdict(t *testing.T) {
	unavailable := func(cause fake.Cause) fake.Verdict { return fake.Verdict{Fact: fake.Unavailable, Cause: cause} }
	for name, of := range map[string]struct {
		script fake.CheckScript
		want   fake.Verdict
		paid   int64
	}{
		"pass":         {fake.CheckScript{}, fake.Verdict{Fact: fake.Passed, Cost: cost(1_000)}, 1},
		"free pass":    {fake.CheckScript{CostMicros: new(int64(0))}, fake.Verdict{Fact: fake.Passed, Cost: cost(0)}, 1},
		"hidden cost":  {fake.CheckScript{HideCost: true}, fake.Verdict{Fact: fake.Passed}, 1},
		"reject":       {fake.CheckScript{Categories: []string{"violence"}}, fake.Verdict{Fact: fake.Rejected, Categories: []string{"violence"}, Cost: cost(1_000)}, 1},
		"unusable":     {fake.CheckScript{Answers: []fake.Answer{fake.Garbage}}, unavailable(fake.UnusableVerdict), 1},
		"error before": {fake.CheckScript{Answers: []fake.Answer{fake.ErrorBefore}}, unavailable(fake.Transport), 0},
		"error after":  {fake.CheckScript{Answers: []fake.Answer{fake.ErrorAfter}}, unavailable(fake.Transport), 1},
		"cut before":   {fake.CheckScript{Answers: []fake.Answer{fake.CutBefore}}, unavailable(fake.Transport), 0},
		"cut after":    {fake.CheckScript{Answers: []fake.Answer{fake.CutAfter}}, unavailable(fake.Transport), 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.scriptCheck(t, "C", of.script)
			if diff := cmp.Diff(of.want, w.client.Check(t.Context(), "C", input)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			counts := w.Totals()
			if counts.Checks.Received != 1 || counts.Checks.Paid != of.paid || counts.Generations != (fake.Counters{}) {
				t.Errorf("counts %+v, want %d paid", counts, of.paid)
			}
		})
	}
}

func TestACheckTimesOutAndItsResendIsNotPaidTwice(t *testing.T) {
	w := start(t)
	w.scriptCheck(t, "C", fake.CheckScript{Answers: []fake.Answer{fake.HangAfter, fake.Plainly}, CostMicros: new(int64(7))})
	hasty := newClient(t, w.URL(), 50*time.Millisecond)
	if v := hasty.Check(t.Context(), "C", input); v.Fact != fake.Unavailable || v.Cause != fake.Timeout {
		t.Errorf("got %+v", v)
	}
	if v := w.client.Check(t.Context(), "C", input); v.Fact != fake.Passed {
		t.Errorf("resend: %+v", v)
	}
	if v := w.client.Check(t.Context(), "C", fake.Check{Stage: "OUTPUT"}); v.Fact != fake.Unavailable {
		t.Errorf("other content under the same key: %+v", v)
	}
	w.await(t, "C", func(c fake.Counts) bool { return c.Checks.Held == 0 })
	want := fake.Counters{Received: 3, Paid: 1, Replayed: 1, ChargedMicros: 7}
	if diff := cmp.Diff(want, w.Counts("C").Checks); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestAHeldCheck(t *testing.T) {
	w := start(t)
	w.scriptCheck(t, "", fake.CheckScript{Answers: []fake.Answer{fake.HoldBefore}, Categories: []string{"hate"}})
	got := background(func() fake.Verdict { return w.client.Check(t.Context(), "C", input) })
	w.await(t, "C", func(c fake.Counts) bool { return c.Checks.Held == 1 })
	if n := w.Release("C"); n != 1 {
		t.Errorf("released %d", n)
	}
	if v := receive(t, got); v.Fact != fake.Rejected {
		t.Errorf("got %+v", v)
	}
}

// TestACheckAndAGenerationShareNoKey keeps both apart even if a confused worker mixes their keys up.
func TestACheckAndAGenerationShareNoKey(t *testing.T) {
	w := start(t)
	w.accept(t, "K", fake.Generation{})
	if v := w.client.Check(t.Context(), "K", input); v.Fact != fake.Passed {
		t.Errorf("got %+v", v)
	}
	counts := w.Counts("K")
	if counts.Generations.Paid != 1 || counts.Checks.Paid != 1 {
		t.Errorf("counts %+v", counts)
	}
}
