package fakeprovider_test

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fake "github.com/settlementd/settlementd/internal/fakeprovider"
)

// TestTheExamplesOfThePackageDocument runs every curl line of the package's documentation, in order, on one server.
func TestTheExamplesOfThePackageDocument(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	w, in := start(t), newInbox(t)
	w.script(t, "K1", fake.GenerationScript{End: fake.TaskPending, Callbacks: new(0)})
	task := w.accept(t, "K1", fake.Generation{Input: "a cat", CallbackURL: in.url})
	examples := regexp.MustCompile(`(?m)^//\tcurl (.*)$`).FindAllStringSubmatch(string(doc), -1)
	if len(examples) < 18 {
		t.Fatalf("%d examples found", len(examples))
	}
	for _, example := range examples {
		method, target, body, header := curl(t, example[1])
		target = strings.Replace(strings.Replace(target, "http://127.0.0.1:8089", w.URL(), 1), "TASK_ID", task, 1)
		if strings.HasSuffix(target, "/v1/generations") {
			body = strings.Replace(body, "}", `, "callback_url": "`+in.url+`"}`, 1)
		}
		status, text := do(t, method, target, body, header...)
		if status != http.StatusOK && status != http.StatusAccepted {
			t.Errorf("%s: %d %s", example[1], status, text)
		}
	}
	if n := w.Totals(); n.Generations.Received != 0 {
		t.Errorf("counts %+v after the reset", n)
	}
}

// curl reads the few options of curl that the documentation uses.
func curl(t *testing.T, line string) (method, target, body string, header []string) {
	t.Helper()
	method = http.MethodGet
	words := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1)
	for i := 0; i < len(words); i++ {
		option := words[i]
		if !strings.HasPrefix(option, "-") {
			target = strings.Trim(option, "'")
			continue
		}
		i++
		value := strings.Trim(words[i], "'")
		switch option {
		case "-X":
			method = value
		case "-d":
			body = value
		case "-H":
			name, content, _ := strings.Cut(value, ": ")
			header = append(header, name, content)
		default:
			t.Fatalf("option %s of %s", option, line)
		}
	}
	return method, target, body, header
}

func TestControlsOverHTTP(t *testing.T) {
	w := start(t)
	control := func(method, path, body string) string {
		t.Helper()
		status, text := do(t, method, w.URL()+"/control/"+path, body)
		if status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, path, status, text)
		}
		return text
	}
	control(http.MethodPut, "generations?key="+url.QueryEscape("a/b?"), `{"answers": ["hold_after"], "end": "pending", "cost_micros": 0}`)
	got := background(func() fake.Submission { return w.client.Submit(t.Context(), "a/b?", fake.Generation{}) })
	w.await(t, "", func(c fake.Counts) bool { return c.Generations.Held == 1 })
	if text := control(http.MethodPost, "release?key="+url.QueryEscape("a/b?"), ""); text != `{"released":1}` {
		t.Errorf("release: %s", text)
	}
	if s := receive(t, got); s.Fact != fake.Accepted {
		t.Errorf("got %+v", s)
	}
	control(http.MethodPost, "finish?status=failed&key="+url.QueryEscape("a/b?"), "")
	if o := w.client.Lookup(t.Context(), "a/b?"); o.Fact != fake.Failed || !cmp.Equal(o.Cost, cost(0)) {
		t.Errorf("got %+v", o)
	}
	control(http.MethodPut, "checks", `{"categories": ["hate"]}`)
	w.client.Check(t.Context(), "C", input)
	want := fake.Counts{
		Generations: fake.Counters{Received: 1, Paid: 1, Polls: 1},
		Checks:      fake.Counters{Received: 1, Paid: 1, ChargedMicros: 1000},
	}
	if diff := cmp.Diff(want, parse[fake.Counts](t, control(http.MethodGet, "counters", ""))); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	want.Generations = fake.Counters{}
	if diff := cmp.Diff(want, parse[fake.Counts](t, control(http.MethodGet, "counters?key=C", ""))); diff != "" {
		t.Errorf("counters of a key (-want +got):\n%s", diff)
	}
	control(http.MethodPost, "reset", "")
	if n := w.Totals(); n != (fake.Counts{}) || len(w.Usage()) != 0 {
		t.Errorf("after the reset: %+v, %+v", n, w.Usage())
	}
	if v := w.client.Check(t.Context(), "C", input); v.Fact != fake.Passed {
		t.Errorf("after the reset: %+v, want no script", v)
	}
}

func TestControlErrors(t *testing.T) {
	w := start(t)
	w.accept(t, "K", fake.Generation{})
	for _, of := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"PUT", "generations", `{"answers": ["maybe"]}`, 400, "maybe"},
		{"PUT", "generations", `{"answer": "cut_after"}`, 400, "unknown field"},
		{"PUT", "generations", `{} {}`, 400, "nothing behind it"},
		{"PUT", "generations", ``, 400, "body"},
		{"PUT", "generations?key=" + strings.Repeat("k", 129), `{}`, 400, "128"},
		{"PUT", "checks", `{"answers": ["refuse"]}`, 400, "refuse"},
		{"POST", "finish?key=L&status=failed", "", 404, "no task"},
		{"POST", "finish?key=K&status=failed", "", 409, "succeeded already"},
		{"POST", "finish?key=K&status=odd", "", 400, "odd"},
		{"POST", "callback?key=K", "", 409, "callback_url"},
	} {
		status, text := do(t, of.method, w.URL()+"/control/"+of.path, of.body)
		if status != of.status || !strings.Contains(text, of.says) {
			t.Errorf("%s %s %s: %d %s, want %d and %q", of.method, of.path, of.body, status, text, of.status, of.says)
		}
	}
}

func TestACallbackThatNobodyTakes(t *testing.T) {
	in, w := newInbox(t), start(t)
	nobody := start(t)
	w.script(t, "", fake.GenerationScript{Callbacks: new(0)})
	w.accept(t, "K", fake.Generation{CallbackURL: nobody.URL()})
	w.accept(t, "L", fake.Generation{CallbackURL: in.url})
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	if status, text := do(t, http.MethodPost, w.URL()+"/control/callback?key=K", ""); status != http.StatusBadGateway {
		t.Errorf("%d %s", status, text)
	}
	if status, text := do(t, http.MethodPost, w.URL()+"/control/callback?key=L", ""); text != `{"http_status":204}` {
		t.Errorf("%d %s", status, text)
	}
}

// TestAWebPageCannotControlTheProvider because a browser on this machine reaches loopback, too.
func TestAWebPageCannotControlTheProvider(t *testing.T) {
	w := start(t)
	status, _ := do(t, http.MethodPost, w.URL()+"/control/reset", "", "Sec-Fetch-Site", "cross-site")
	if status != http.StatusForbidden {
		t.Errorf("status %d", status)
	}
}
