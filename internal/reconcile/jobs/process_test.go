package jobs_test

import (
	"bufio"
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

	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// binary builds the program once, with what stops it at the points of a chunk.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "settlementd")
	out, err := exec.Command("go", "build", "-tags", "faults", "-o", path, "github.com/settlementd/settlementd/cmd/settlementd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

var buildDir string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "settlementd-jobs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	buildDir = dir
	return m.Run()
}

// process is a server in a process of its own.
type process struct {
	*apptest.Service
	cmd    *exec.Cmd
	stdout chan string
	stderr strings.Builder
	ended  chan struct{}
}

// patience is how long a test waits for something that must happen.
const patience = time.Minute

// start runs a server on the database and waits until it listens. With a point it stops there, the first time that it gets there.
func start(t testing.TB, db *postgrestest.DB, point string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{
		cmd:    exec.Command(path, "serve", "--listen=127.0.0.1:0", "--sweep-interval=1h", "--pool-size=2", "--read-pool-size=1", "--database="+db.ServiceDSN()),
		stdout: make(chan string, 10), ended: make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(), "SETTLEMENTD_FAULT="+point)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	address := make(chan string, 1)
	go p.follow(stdout, stderr, address)
	select {
	case at := <-address:
		p.Service = apptest.Dial(t, at)
		p.DB = db
	case <-p.ended:
		t.Fatalf("the server ended: %s", p.stderr.String())
	case <-time.After(patience):
		t.Fatal("the server never listens")
	}
	return p
}

// follow reads what the server says until it has ended.
func (p *process) follow(stdout, stderr io.Reader, address chan<- string) {
	defer close(p.ended)
	var wg sync.WaitGroup
	wg.Go(func() {
		for s := bufio.NewScanner(stdout); s.Scan(); {
			p.stdout <- s.Text()
		}
	})
	wg.Go(func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			p.stderr.WriteString(s.Text() + "\n")
			if _, at, ok := strings.Cut(s.Text(), "address="); ok {
				address <- at
			}
		}
	})
	wg.Wait()
	_ = p.cmd.Wait()
}

// killedAt waits until the server says that it has stopped at the point, and kills it there.
func (p *process) killedAt(t testing.TB, point string) {
	t.Helper()
	select {
	case said := <-p.stdout:
		if said != "stopped at "+point {
			t.Fatalf("the server said %q", said)
		}
	case <-p.ended:
		t.Fatalf("the server ended: %s", p.stderr.String())
	case <-time.After(patience):
		t.Fatalf("the server never came to %s", point)
	}
	p.killedNow(t)
}

// killedNow kills the server, and makes sure that this is what it died of.
func (p *process) killedNow(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatal("the server does not die")
	}
	if w, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !w.Signaled() || w.Signal() != syscall.SIGKILL {
		t.Fatalf("the server ended by %v and not by SIGKILL", p.cmd.ProcessState)
	}
}

// terminate ends the server as an operator would, and returns its exit status.
func (p *process) terminate(t testing.TB) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatal("the server does not end")
		return -1
	}
}
