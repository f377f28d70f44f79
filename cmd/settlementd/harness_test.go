package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the program under test, built as users build it, but with the race detector where the tests have it.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "settlementd-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "settlementd")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// patience is how long a test waits for something that must happen.
const patience = 2 * time.Minute

// program is the binary, running.
type program struct {
	t     testing.TB
	cmd   *exec.Cmd
	lines chan string // of standard output
	ended chan struct{}

	mu     sync.Mutex
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// start runs the binary with nothing of our own settings in its environment but env.
func start(t testing.TB, env []string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(binary, args...), lines: make(chan string, 1000), ended: make(chan struct{})}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "SETTLEMENTD_") {
			p.cmd.Env = append(p.cmd.Env, e)
		}
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = lockedWriter{&p.mu, &p.stderr}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(out)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

func (p *program) read(out io.Reader) {
	defer close(p.ended)
	defer close(p.lines)
	for s := bufio.NewScanner(out); s.Scan(); {
		p.mu.Lock()
		p.stdout.WriteString(s.Text() + "\n")
		p.mu.Unlock()
		select {
		case p.lines <- s.Text():
		default: // nobody reads so many
		}
	}
	_ = p.cmd.Wait()
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// said returns what the program wrote so far.
func (p *program) said() (stdout, stderr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String(), p.stderr.String()
}

// expect returns the next line of standard output that contains a text.
func (p *program) expect(text string) string {
	p.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case line, ok := <-p.lines:
			if ok && strings.Contains(line, text) {
				return line
			}
			if !ok {
				stdout, stderr := p.said()
				p.t.Fatalf("the program ended and never said %q\n%s%s", text, stdout, stderr)
			}
		case <-timer.C:
			stdout, stderr := p.said()
			p.t.Fatalf("the program never said %q\n%s%s", text, stdout, stderr)
		}
	}
}

// wait returns the exit status, -1 after a signal.
func (p *program) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		stdout, stderr := p.said()
		p.t.Fatalf("the program does not end\n%s%s", stdout, stderr)
		return -1
	}
}

// stop sends a signal and returns the exit status.
func (p *program) stop(sig syscall.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
	return p.wait()
}

// call runs the binary to its end.
func call(t testing.TB, env []string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	p := start(t, env, args...)
	status = p.wait()
	stdout, stderr = p.said()
	return stdout, stderr, status
}

// file writes a configuration file.
func file(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "settlementd.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// awaitText waits until standard error has a text, and returns what stands behind it up to the next quote.
func awaitText(p *program, text string) (string, bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		_, stderr := p.said()
		if _, rest, ok := strings.Cut(stderr, text); ok {
			found, _, _ := strings.Cut(rest, `"`)
			return found, true
		}
		select {
		case <-p.ended:
			_, stderr := p.said()
			p.t.Logf("the program ended: %s", stderr)
			return "", false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return "", false
}
