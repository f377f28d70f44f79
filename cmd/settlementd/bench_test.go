package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/settlementd/settlementd/internal/bench"
)

// small is the setting around which a test measures: less to set up than usual.
var small = []string{"--budgets=1", "--accounts=100", "--tenants=1", "--connections=1"}

// measure runs a bench to its end and returns its report.
func measure(t *testing.T, th theatre, args ...string) bench.Report {
	t.Helper()
	stdout, stderr, status := call(t, th.env, append([]string{"bench", "--output=json"}, args...)...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	var r bench.Report
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	if strings.Contains(stderr, "\x1b") || strings.Contains(stderr, "level=") || !strings.HasSuffix(stderr, "verifying the ledger\n") {
		t.Errorf("standard error is not just the progress: %s", stderr)
	}
	th.isEmpty()
	return r
}

// TestAQuickBenchComparesTheModes looks at everything that a program would read.
func TestAQuickBenchComparesTheModes(t *testing.T) {
	t.Parallel()
	r := measure(t, newTheatre(t), "--quick", "--for=8s", "--batch-items=20")
	m := r.Machine
	if m.Cores < 1 || m.CPU == "" || m.Kernel == "" || !strings.HasPrefix(m.Go, "go1.") || m.Postgres == "" || !m.Fsync || m.Folder == "" ||
		m.Settings["shared_buffers"] != "1GB" || m.Settings["max_wal_size"] != "8GB" {
		t.Errorf("the machine is %+v", m)
	}
	at := map[bench.Mode]map[int]bench.Point{}
	for _, p := range r.Points {
		if at[p.Mode] == nil {
			at[p.Mode] = map[int]bench.Point{}
		}
		at[p.Mode][p.Callers] = p
		if p.Calls < 1 || math.Abs(p.CallsPerSecond-float64(p.Calls)/p.Seconds) > 1e-6*p.CallsPerSecond || p.P50 <= 0 || p.P50 > p.P99 || p.P99 > p.P999 {
			t.Errorf("%+v", p)
		}
		if p.Mode != bench.Noop && (p.Transactions <= 0 || p.WALBytes < 500 || p.Allocations <= 0 || p.AllocatedBytes <= 0) {
			t.Errorf("a call is said to leave little behind: %+v", p)
		}
	}
	if len(r.Points) != 8 || len(at) != 4 || !r.Ledger.Good || r.Commit.P50 <= 0 {
		t.Errorf("%d points, ledger %v, commit %v", len(r.Points), r.Ledger, r.Commit)
	}
	if alone := at[bench.Single][1].Transactions; alone < 0.9 || alone > 1.5 {
		t.Errorf("a call alone takes %v transactions", alone)
	}
	for name, of := range map[string]struct {
		got  *float64
		want float64
	}{
		"lane_over_noop":   {r.Ratios.LaneOverNoop, at[bench.Lane][256].CallsPerSecond / at[bench.Noop][256].CallsPerSecond},
		"lane_over_single": {r.Ratios.LaneOverSingle, at[bench.Lane][256].CallsPerSecond / at[bench.Single][256].CallsPerSecond},
		"batch_over_noop":  {r.Ratios.BatchOverNoop, at[bench.Batch][256].CallsPerSecond / at[bench.Noop][256].CallsPerSecond},
		"lone_over_commit": {r.Ratios.LoneOverCommit, at[bench.Lane][1].P50 / r.Commit.P50},
	} {
		if of.got == nil || math.Abs(*of.got-of.want) > 1e-9 {
			t.Errorf("%s is not %v", name, of.want)
		}
	}
}

// TestABenchOnAGrownDatabase has reservations made beside the calls, an open loop at half load, and an old snapshot, and verify is good.
func TestABenchOnAGrownDatabase(t *testing.T) {
	t.Parallel()
	chart := filepath.Join(t.TempDir(), "chart.svg")
	r := measure(t, newTheatre(t), append(small, "--mode=lane", "--callers=256", "--for=7s", "--existing=500,3000", "--old-snapshot=3s",
		"--ids=random", "--chart="+chart)...)
	if !r.Ledger.Good || len(r.Points) != 4 || len(r.Growth) != 1 || r.Growth[0].From != 500 || r.Growth[0].To != 3000 || r.Growth[0].Ratio <= 0 {
		t.Errorf("ledger %v, %d points, growth %+v", r.Ledger, len(r.Points), r.Growth)
	}
	if p := r.Points[2]; !p.Half || math.Abs(p.Rate-r.Points[0].CallsPerSecond/2) > 1 || r.Ratios.P99OverP50 == nil || *r.Ratios.P99OverP50 != p.P99/p.P50 {
		t.Errorf("at half load %+v, %v", p, r.Ratios)
	}
	if s := r.OldSnapshot; s == nil || s.FirstTenth <= 0 || s.LastTenth <= 0 || s.Seconds < 3 {
		t.Errorf("the old snapshot: %+v", s)
	}
	f, err := os.Open(chart)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for d := xml.NewDecoder(f); err == nil; {
		_, err = d.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("the chart: %v", err)
	}
}

// TestAWrongAnswerFailsTheBench has a server that answers most calls with an error, and one that does not start.
func TestAWrongAnswerFailsTheBench(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{"queue-max=1": "ResourceExhausted", "queue-max=0": "queue-max: must be"} {
		th := newTheatre(t)
		stdout, stderr, status := call(t, th.env, append([]string{"bench", "--for=5s", "--mode=lane", "--callers=256", "--server=" + setting}, small...)...)
		if status != statusFailed || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s%s", setting, status, stdout, stderr)
		}
		th.isEmpty()
	}
}

// TestWhatABenchCannotKeepIsToldBeforeItRuns names the flag.
func TestWhatABenchCannotKeepIsToldBeforeItRuns(t *testing.T) {
	t.Parallel()
	th := newTheatre(t)
	for _, of := range []struct {
		flag, want string
		status     int
	}{
		{"--for=1s", "for: must be at least 22s for the 34 points of this run, not 1s", statusUsage},
		{"--chart=" + filepath.Join(t.TempDir(), "nowhere", "chart.svg"), "chart: ", statusFailed},
		{"--chart=" + t.TempDir(), "is a directory", statusFailed},
	} {
		stdout, stderr, status := call(t, th.env, "bench", of.flag)
		if status != of.status || stdout != "" || !strings.Contains(stderr, of.want) || strings.Contains(stderr, "callers") {
			t.Errorf("%s: status %d, %s%s", of.flag, status, stdout, stderr)
		}
		th.isEmpty()
	}
}

// TestABrokenLedgerFailsTheBench moves a balance behind the ledger's back: the report is there, and says so.
func TestABrokenLedgerFailsTheBench(t *testing.T) {
	t.Parallel()
	th := newTheatre(t)
	stdout, stderr, status := call(t, th.env, append([]string{"bench", "--for=3s", "--mode=lane", "--callers=16", "--rate=none", "--plant-failure"}, small...)...)
	if status != statusFailed || !strings.Contains(stdout, "verify: 1 row broken:\ntenant t0, balances_match_the_ledger: a0 CREDITS available") ||
		!strings.Contains(stderr, "the ledger is broken") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	th.isEmpty()
}

// TestAnInterruptedBenchLeavesNothingBehind ends it under load, in the hardest way as well.
func TestAnInterruptedBenchLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	chart := filepath.Join(t.TempDir(), "chart.svg")
	if err := os.WriteFile(chart, []byte("of the last run"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		th := newTheatre(t)
		p := start(t, th.env, append([]string{"bench", "--mode=single,lane", "--callers=64", "--chart=" + chart}, small...)...)
		if _, ok := awaitText(p, "1 of "); !ok {
			t.Fatal("it never measured")
		}
		status := p.stop(sig)
		if stdout, stderr := p.said(); status != interruptedBy[sig] || stdout != "" {
			t.Errorf("%v: status %d\n%s%s", sig, status, stdout, stderr)
		}
		if text, err := os.ReadFile(chart); string(text) != "of the last run" {
			t.Errorf("%v: the last chart is %q, %v", sig, text, err)
		}
		th.isEmpty()
	}
}
