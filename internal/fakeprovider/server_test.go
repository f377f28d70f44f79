package fakeprovider_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	fake "github.com/settlementd/settlementd/internal/fakeprovider"
)

func TestTheStatementInJSONAndCSV(t *testing.T) {
	w := start(t)
	task := w.accept(t, `a,"b"`, fake.Generation{})
	w.client.Check(t.Context(), "C", input)
	_, text := do(t, http.MethodGet, w.URL()+"/v1/usage", "")
	want := fmt.Sprintf(`{"charges":[{"request_key":"a,\"b\"","provider_task_id":%q,"cost_micros":50000,"currency":"USD"},`+
		`{"request_key":"C","provider_task_id":"","cost_micros":1000,"currency":"USD"}]}`, task)
	if text != want {
		t.Errorf("JSON %s\nwant %s", text, want)
	}
	want = "request_key,provider_task_id,cost,currency\n\"a,\"\"b\"\"\"," + task + ",50000,USD\nC,,1000,USD\n"
	if _, text := do(t, http.MethodGet, w.URL()+"/v1/usage?format=csv", ""); text != want {
		t.Errorf("CSV %s\nwant %s", text, want)
	}
	if _, text := do(t, http.MethodGet, w.URL()+"/v1/usage", "", "Accept", "text/csv"); text != want {
		t.Errorf("CSV %s\nwant %s", text, want)
	}
	if _, text := do(t, http.MethodGet, w.URL()+"/v1/usage?key=C&format=csv", ""); strings.Count(text, "\n") != 2 {
		t.Errorf("statement of C: %s", text)
	}
	if status, text := do(t, http.MethodGet, w.URL()+"/v1/usage?format=xml", ""); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, text)
	}
	w.Reset()
	if _, text := do(t, http.MethodGet, w.URL()+"/v1/usage", ""); text != `{"charges":[]}` {
		t.Errorf("empty statement: %s", text)
	}
}

func TestMalformedPostsAreRefusedAndNotCounted(t *testing.T) {
	w := start(t)
	key := []string{"Idempotency-Key", "K"}
	for _, of := range []struct {
		name, path, body string
		header           []string
	}{
		{"no key", "generations", `{}`, nil},
		{"two keys", "generations", `{}`, append(key, key...)},
		{"long key", "generations", `{}`, []string{"Idempotency-Key", strings.Repeat("k", 129)}},
		{"no body", "generations", ``, key},
		{"no object", "generations", `"text"`, key},
		{"unknown field", "generations", `{"inptu": ""}`, key},
		{"large", "generations", `{"input": "` + strings.Repeat("x", 64<<10) + `"}`, key},
		{"foreign callback", "generations", `{"callback_url": "http://example.com/"}`, key},
		{"odd callback", "generations", `{"callback_url": "file:///etc/hosts"}`, key},
		{"no stage", "checks", `{}`, key},
		{"no key", "checks", `{"stage": "INPUT"}`, nil},
	} {
		status, text := do(t, http.MethodPost, w.URL()+"/v1/"+of.path, of.body, of.header...)
		if status != http.StatusBadRequest || !strings.Contains(text, "invalid_request") {
			t.Errorf("%s: %d %s", of.name, status, text)
		}
	}
	if status, text := do(t, http.MethodGet, w.URL()+"/v1/generations", ""); status != http.StatusBadRequest {
		t.Errorf("look-up without a key: %d %s", status, text)
	}
	if n := w.Totals(); n != (fake.Counts{}) {
		t.Errorf("counts %+v", n)
	}
}

func TestAFullProviderTakesNoMoreWork(t *testing.T) {
	w := start(t, func(o *fake.Options) { o.RecordsMax = 3 })
	w.accept(t, "K", fake.Generation{}) // a key, a task and a charge
	for _, key := range []string{"L", "M"} {
		if s := w.client.Submit(t.Context(), key, fake.Generation{}); s.Fact != fake.Uncertain || s.Cause != fake.ServerError {
			t.Errorf("got %+v", s)
		}
	}
	w.accept(t, "K", fake.Generation{}) // needs no room
	if err := w.ScriptCheck("C", fake.CheckScript{}); err == nil {
		t.Error("a script found room")
	}
	if n := w.Totals().Generations; n.Paid != 1 || len(w.Usage()) != 1 {
		t.Errorf("counts %+v", n)
	}
	w.Reset()
	w.accept(t, "L", fake.Generation{})
}

// TestTheStatementNeverWraps bills the highest cost until the sum has no room.
func TestTheStatementNeverWraps(t *testing.T) {
	w := start(t, func(o *fake.Options) { o.CheckCost, o.IdempotencyWindow = fake.AmountMax, 0 })
	for {
		if v := w.client.Check(t.Context(), "C", input); v.Fact != fake.Passed {
			break
		}
	}
	n := w.Totals().Checks
	if want := int64(math.MaxInt64 / fake.AmountMax); n.Paid != want || n.ChargedMicros != want*fake.AmountMax {
		t.Errorf("counts %+v, want %d paid", n, want)
	}
}

func TestResetAndCloseCutWhatIsHeld(t *testing.T) {
	for name, end := range map[string]func(*world){
		"reset": func(w *world) { w.Reset() },
		"close": func(w *world) { _ = w.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			var got []<-chan fake.Submission
			for _, answer := range []fake.Answer{fake.HoldBefore, fake.HoldAfter, fake.HangBefore, fake.HangAfter} {
				w.script(t, string(answer), fake.GenerationScript{Answers: []fake.Answer{answer}, HoldMillis: 1})
				got = append(got, background(func() fake.Submission {
					return w.client.Submit(t.Context(), string(answer), fake.Generation{})
				}))
			}
			w.await(t, "", func(c fake.Counts) bool { return c.Generations.Held == 4 })
			end(w)
			for _, c := range got {
				if s := receive(t, c); s.Fact != fake.Uncertain || s.Cause != fake.Transport {
					t.Errorf("got %+v", s)
				}
			}
			w.clock.Advance(time.Hour)
			if n := w.Totals(); n != (fake.Counts{}) {
				t.Errorf("counts %+v", n)
			}
		})
	}
}

func TestAClosedProviderStaysClosed(t *testing.T) {
	w := start(t)
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if s := w.client.Submit(t.Context(), "K", fake.Generation{}); s.Fact != fake.NotSent {
		t.Errorf("got %+v", s)
	}
	if err := w.ScriptGeneration("K", fake.GenerationScript{}); err == nil {
		t.Error("a script was taken")
	}
}

func TestAwaitGivesUpWithItsContext(t *testing.T) {
	w := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := w.Await(ctx, "K", func(fake.Counts) bool { return false })
	if err == nil || !strings.Contains(err.Error(), `"K"`) {
		t.Errorf("got %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*fake.Options){
		"every interface": func(o *fake.Options) { o.Addr = ":0" },
		"foreign address": func(o *fake.Options) { o.Addr = "192.0.2.1:0" },
		"no port":         func(o *fake.Options) { o.Addr = "127.0.0.1" },
		"currency":        func(o *fake.Options) { o.Currency = "usd" },
		"long currency":   func(o *fake.Options) { o.Currency = "EURO" },
		"cost":            func(o *fake.Options) { o.GenerationCost = -1 },
		"check cost":      func(o *fake.Options) { o.CheckCost = fake.AmountMax + 1 },
		"window":          func(o *fake.Options) { o.IdempotencyWindow = -1 },
		"timeout":         func(o *fake.Options) { o.CallbackTimeout = 0 },
		"records":         func(o *fake.Options) { o.RecordsMax = 0 },
		"clock":           func(o *fake.Options) { o.Clock = nil },
	} {
		o := fake.Defaults()
		change(&o)
		if s, err := fake.Start(o); err == nil {
			t.Errorf("%s: was taken", name)
			_ = s.Close()
		}
	}
	w, o := start(t), fake.Defaults()
	o.Addr = strings.TrimPrefix(w.URL(), "http://")
	if _, err := fake.Start(o); err == nil {
		t.Error("two servers took one address")
	}
}

func TestScriptsAreChecked(t *testing.T) {
	w := start(t)
	many := func(n int) []fake.Answer { return make([]fake.Answer, n) }
	for name, script := range map[string]fake.GenerationScript{
		"unknown answer":   {Answers: many(1)},
		"many answers":     {Answers: many(17)},
		"hold":             {HoldMillis: -1},
		"end after":        {EndAfterMillis: 3_600_001},
		"refusal's status": {Refusal: fake.Refusal{Status: 500}},
		"refusal's code":   {Refusal: fake.Refusal{Code: "a b"}},
		"refusal's cost":   {Refusal: fake.Refusal{CostMicros: -1}},
		"failure code":     {FailureCode: "a b"},
		"cost":             {CostMicros: new(int64(fake.AmountMax + 1))},
		"callbacks":        {Callbacks: new(11)},
		"end":              {End: "odd"},
		"polls":            {NotFoundPolls: -1},
		"many polls":       {PendingPolls: 1_000_001},
		"two ends":         {PendingPolls: 1, EndAfterMillis: 1},
		"no end":           {End: fake.TaskPending, PendingPolls: 1},
	} {
		if err := w.ScriptGeneration("K", script); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
	for name, script := range map[string]fake.CheckScript{
		"no task id":      {Answers: []fake.Answer{fake.NoTaskID}},
		"hold":            {HoldMillis: 3_600_001},
		"cost":            {CostMicros: new(int64(-1))},
		"category":        {Categories: []string{""}},
		"many categories": {Categories: make([]string, 33)},
	} {
		if err := w.ScriptCheck("K", script); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
}
