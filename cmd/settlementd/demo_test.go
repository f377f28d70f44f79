package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settlementd/settlementd/internal/demo"
)

// theatre is a folder for temporary files, by which all that a demo makes can be found: its files, and its processes.
type theatre struct {
	t   testing.TB
	dir string
	env []string
}

func newTheatre(t testing.TB) theatre {
	dir, err := os.MkdirTemp("", "sd-")
	if err == nil {
		err = os.Chmod(dir, 0o711) // PostgreSQL's user must get in
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return theatre{t, dir, []string{"TMPDIR=" + dir, "SETTLEMENTD_DATABASE=host=/does/not/exist", "SETTLEMENTD_SCHEMA=elsewhere"}}
}

// processes lists the processes that know the folder: by their arguments, or by the environment that they inherited.
func (th theatre) processes() []string {
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		arguments, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(p, "environ"))
		if strings.Contains(string(arguments)+string(environment), th.dir) {
			found = append(found, filepath.Base(p)+" "+strings.ReplaceAll(string(arguments), "\x00", " "))
		}
	}
	return found
}

// isEmpty waits until no process and no file is left.
func (th theatre) isEmpty() {
	th.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		processes := th.processes()
		files, err := os.ReadDir(th.dir)
		if err != nil {
			th.t.Fatal(err)
		}
		if len(processes)+len(files) == 0 {
			return
		}
		if time.Now().After(deadline) {
			th.t.Fatalf("left behind: processes %q, files %v", processes, files)
		}
		<-time.After(20 * time.Millisecond)
	}
}

var lastLine = regexp.MustCompile(`\n(\d+ passed, \d+ failed)\n$`)

// TestTheDemoPlaysEveryOutcome is the promise of the README: every scenario and the invariants pass, and nothing is left behind.
func TestTheDemoPlaysEveryOutcome(t *testing.T) {
	t.Parallel()
	th := newTheatre(t)
	stdout, stderr, status := call(t, th.env, "demo")
	t.Log(stdout, stderr)
	if status != 0 || stderr != "" {
		t.Errorf("status %d, %s", status, stderr)
	}
	if got := lastLine.FindStringSubmatch(stdout); got == nil || got[1] != "26 passed, 0 failed" {
		t.Errorf("the last line is %q", got)
	}
	for _, want := range []string{
		"completed", "provider failed", "policy rejected", "moderation unavailable", "cancelled", "expired", "not received", "given up",
		"moderation unavailable ×12",
		"releasable", "withheld", "none", "attempt captured", "4 of 10 captured", "10 returned", "nothing is broken.",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(stdout, "✗") || strings.Contains(stdout, "\x1b") {
		t.Error("a failure, or colours in a pipe")
	}
	if processes := th.processes(); len(processes) > 0 {
		t.Errorf("the demo has ended, but not %q", processes)
	}
	th.isEmpty()
}

// TestAPlantedFailureIsFound moves a balance behind the ledger's back: a scenario that reads it fails, and so does verify.
func TestAPlantedFailureIsFound(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		plant string
		want  []string
	}{
		{"partial-charge", []string{"✗ charged in part (partial-charge): credits available: wanted 96, read 97\n", "nothing is broken."}},
		{demo.PlantInLedger, []string{"✗ balances_match_the_ledger", "completed CREDITS available", "1 row broken."}},
	} {
		t.Run(of.plant, func(t *testing.T) {
			t.Parallel()
			th := newTheatre(t)
			stdout, stderr, status := call(t, th.env, "demo", "--plant-failure="+of.plant)
			if status != 1 {
				t.Errorf("status %d, %s", status, stderr)
			}
			if got := lastLine.FindStringSubmatch(stdout); got == nil || got[1] != "25 passed, 1 failed" {
				t.Errorf("the last line is %q\n%s", got, stdout)
			}
			for _, want := range of.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in\n%s", want, stdout)
				}
			}
			th.isEmpty()
		})
	}
	if _, stderr, status := call(t, nil, "demo", "--plant-failure=nothing"); status != 2 || !strings.Contains(stderr, `"nothing"`) {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// TestAnInterruptedDemoLeavesNothingBehind ends it while a worker of its is frozen, in the hardest way as well.
func TestAnInterruptedDemoLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			th := newTheatre(t)
			p := start(t, th.env, "demo")
			p.expect("✓")
			th.awaitFrozen()
			status := p.stop(sig)
			if stdout, stderr := p.said(); status != interruptedBy[sig] || strings.Contains(stdout, "passed") {
				t.Errorf("status %d\n%s%s", status, stdout, stderr)
			}
			th.isEmpty()
		})
	}
}

// awaitFrozen waits until a process of the demo is stopped.
func (th theatre) awaitFrozen() {
	th.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		for _, p := range th.processes() {
			pid, _, _ := strings.Cut(p, " ")
			stat, _ := os.ReadFile(filepath.Join("/proc", pid, "stat"))
			if strings.Contains(string(stat), ") T ") {
				return
			}
		}
	}
	th.t.Fatal("no worker was frozen")
}
