package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// childEnv makes the test binary a program that runs a server in the folder it names, until it is killed.
const childEnv = "SETTLEMENTD_TEST_EMBEDDED_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
	}
	os.Exit(m.Run())
}

func child(dir string) {
	s, err := Start(context.Background(), Options{Dir: dir})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("pid:", s.PID())
	select {}
}

// spawn starts a child and returns it with its server's process id, or with its error.
func spawn(t *testing.T, dir string) (cmd *exec.Cmd, pid int, problem string) {
	t.Helper()
	return spawnCmd(t, exec.Command(os.Args[0]), dir)
}

func spawnCmd(t *testing.T, cmd *exec.Cmd, dir string) (_ *exec.Cmd, pid int, problem string) {
	t.Helper()
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
	if word != "pid" {
		return cmd, 0, rest
	}
	if pid, err = strconv.Atoi(rest); err != nil {
		t.Fatal(err)
	}
	return cmd, pid, ""
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// value runs one statement as the superuser and returns its one value as text.
func value(t *testing.T, s *Server, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.DSN(Superuser, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var v string
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	return v
}

// folder is a new folder that the server's user can reach: t.TempDir is closed to it when we are root.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "embedded")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "pg")
}

func TestDataOutlivesStopKillAndRestart(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, Options{Dir: dir})
	value(t, s, "CREATE TABLE kept (n int)")
	value(t, s, "INSERT INTO kept VALUES (7)")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatalf("the second Stop: %v", err)
	}

	s = start(t, Options{Dir: dir})
	value(t, s, "INSERT INTO kept VALUES (35)")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}

	s = start(t, Options{Dir: dir})
	if got := value(t, s, "SELECT sum(n)::text FROM kept"); got != "42" {
		t.Errorf("the sum after a restart is %s", got)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: folder(t), Settings: map[string]string{"shared_buffers": "16MB", "max_connections": "17"}})
	for sql, want := range map[string]string{
		"SHOW shared_buffers":   "16MB",
		"SHOW max_connections":  "17",
		"SHOW fsync":            "on",
		"SHOW listen_addresses": "",
		"SHOW server_encoding":  "UTF8",
		"SELECT datcollate FROM pg_database WHERE datname = 'postgres'":       systemLocale(),
		"SELECT (current_setting('server_version_num')::int >= 150000)::text": "true",
	} {
		if got := value(t, s, sql); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

func TestICUCollatesByLanguage(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: folder(t), ICULocale: "en-US", FsyncOff: true})
	if got := value(t, s, "SELECT ('a' < 'B')::text"); got != "true" {
		t.Error("the cluster sorts by bytes")
	}
	if got := value(t, s, "SHOW fsync"); got != "off" {
		t.Errorf("fsync is %s", got)
	}
}

func TestKilledProgramLeavesNoServer(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	cmd, pid, problem := spawn(t, dir)
	if problem != "" {
		t.Fatal(problem)
	}
	if !serves(pid, filepath.Join(dir, dataFolder)) {
		t.Fatalf("%d is not the server", pid)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it says that it was killed
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := Start(ctx, Options{Dir: dir}) // it waits for the other to go
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop() }()
	if serves(pid, filepath.Join(dir, dataFolder)) {
		t.Error("the server of the killed program is still there")
	}
}

func TestFolderOfAnotherProgram(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, Options{Dir: dir})
	_, _, problem := spawn(t, dir)
	if !strings.Contains(problem, "in use") || !strings.Contains(problem, strconv.Itoa(os.Getpid())) || !strings.Contains(problem, dir) {
		t.Errorf("a second program is told %q", problem)
	}
	if _, err := Start(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second start is told %v", err)
	}
	value(t, s, "SELECT 'still there'")
}
