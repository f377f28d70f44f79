package cases_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/settlementd/settlementd/internal/app/apptest"
)

// program is the binary as users build it, and with what stops it at the points of a job's chunk, each made once for all tests that want it.
var program struct {
	sync.Mutex
	dir   string
	built map[string]string // by build tags
}

func TestMain(m *testing.M) {
	status := m.Run()
	_ = os.RemoveAll(program.dir) // "" removes nothing
	os.Exit(status)
}

func binary(t *testing.T, tags string) string {
	t.Helper()
	program.Lock()
	defer program.Unlock()
	if file, ok := program.built[tags]; ok {
		return file
	}
	if program.dir == "" {
		dir, err := os.MkdirTemp("", "settlementd-cases-")
		if err != nil {
			t.Fatal(err)
		}
		program.dir, program.built = dir, map[string]string{}
	}
	file := filepath.Join(program.dir, "settlementd"+tags)
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", tags, "-o", file, "github.com/settlementd/settlementd/cmd/settlementd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	program.built[tags] = file
	return file
}

// process is the program, serving.
type process struct {
	*site
	cmd     *exec.Cmd
	ended   chan struct{}
	stopped chan struct{} // closed when the process stops at its point

	mu     sync.Mutex
	stderr strings.Builder
}

// serve starts the program on the site's database, and returns when it listens.
func (x *site) serve(flags ...string) *process {
	x.t.Helper()
	return x.start(binary(x.t, ""), "", flags...)
}

// serveUntil starts a program that stops at a point of a job's chunk, for ever.
func (x *site) serveUntil(point string) *process {
	x.t.Helper()
	return x.start(binary(x.t, "faults"), point)
}

func (x *site) start(file, point string, flags ...string) *process {
	x.t.Helper()
	args := append([]string{"serve", "--listen=127.0.0.1:0", "--database=" + x.DB.ServiceDSN(), "--sweep-interval=1h", "--pool-size=4"}, flags...)
	p := &process{cmd: exec.CommandContext(context.Background(), file, args...), ended: make(chan struct{}), stopped: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "SETTLEMENTD_FAULT="+point)
	p.cmd.Stdout = heard(func(said []byte) (int, error) {
		if string(said) == "stopped at "+point+"\n" {
			close(p.stopped)
		}
		return len(said), nil
	})
	out, err := p.cmd.StderrPipe()
	if err != nil {
		x.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, at, ok := strings.Cut(lines.Text(), "msg=listening address="); ok {
				address <- at
			}
			p.mu.Lock()
			p.stderr.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
		}
		_ = p.cmd.Wait()
	}()
	x.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	select {
	case at := <-address:
		p.site = &site{apptest.Dial(x.t, at), x.t}
		p.DB = x.DB
	case <-p.ended:
		x.t.Fatalf("the program ended before it served:\n%s", p.said())
	}
	return p
}

// heard takes what a process says.
type heard func([]byte) (int, error)

// Write takes a piece.
func (h heard) Write(said []byte) (int, error) { return h(said) }

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the process by SIGKILL.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.ended
	if s, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !s.Signaled() || s.Signal() != syscall.SIGKILL {
		p.t.Fatalf("not killed but %v", p.cmd.ProcessState)
	}
}

// terminate sends SIGTERM, and fails the test when the process does not end well and in time.
func (p *process) terminate(within time.Duration) {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.ended:
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			p.t.Errorf("it ended with %d:\n%s", code, p.said())
		}
	case <-timer.C:
		p.t.Fatalf("it does not end within %v:\n%s", within, p.said())
	}
}

// stopAt has a statement, or COMMIT, wait for a lock that the test holds.
func (x *site) stopAt(point string) {
	x.t.Helper()
	const wait = "PERFORM pg_advisory_xact_lock(1)"
	switch point {
	case "COMMIT":
		x.fault("INSERT ON exceptions", "false", "NULL") // makes the function
		x.DB.Exec(`CREATE OR REPLACE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$ BEGIN ` + wait + `; RETURN NULL; END $$;
			CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON reservations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fault()`)
	default:
		x.fault(point, always, wait)
	}
}

// terminateBackends ends the sessions of the service that wait for a lock, as if their host had gone with the process.
func (x *site) terminateBackends() {
	x.t.Helper()
	x.DB.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND usename = 'settlementd_service' AND wait_event_type = 'Lock'`)
}
