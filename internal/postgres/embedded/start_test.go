package embedded

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for name, c := range map[string]struct {
		options Options
		says    string
	}{
		"no folder":      {Options{}, "Options.Dir"},
		"a wrong option": {Options{Dir: dir, Settings: map[string]string{"no_such": "1"}}, `unrecognized configuration parameter "no_such"`},
		"a wrong locale": {Options{Dir: folder(t), ICULocale: "en-US-" + strings.Repeat("x", 300)}, "initdb"},
	} {
		s, err := Start(t.Context(), c.options)
		if err == nil {
			_ = s.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := start(t, Options{Dir: dir}) // what failed has left no lock and no server
	value(t, s, "SELECT 'it runs'")
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s, err := Start(ctx, Options{Dir: dir})
	if err == nil {
		_ = s.Stop()
		t.Fatal("a cluster in 50 ms")
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("told %v", err)
	}
	start(t, Options{Dir: dir}) // over what was left unfinished
}

func TestAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	data := filepath.Join(dir, dataFolder)
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "PostgreSQL 9") {
		t.Errorf("told %v", err)
	}
}

func TestAStalePIDFileOfAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, Options{Dir: dir})
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, dataFolder, "postmaster.pid")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, Options{Dir: dir})
}

func TestFoldersWithStrangeAndLongNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{`it's a \folder\`, strings.Repeat("long/", 40)} {
		dir := filepath.Join(folder(t), name)
		s := start(t, Options{Dir: dir})
		if len(s.Socket()) > socketPathMax {
			t.Errorf("the socket's path has %d bytes", len(s.Socket()))
		}
		if got := value(t, s, "SELECT 'reached'"); got != "reached" {
			t.Error(got)
		}
		private(t, filepath.Dir(s.Socket()))
		private(t, filepath.Join(dir, dataFolder))
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(s.Socket(), dir) {
			if err := os.Remove(filepath.Dir(s.Socket())); err != nil {
				t.Error(err)
			}
		}
	}
}

// private fails the test when others may look into a folder.
func private(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s is open to others: %v", path, info.Mode())
	}
}

func TestASocketFolderOfSomebodyElseIsRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	if err := os.MkdirAll(filepath.Join(dir, "socket"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "socket"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "not a private folder") {
		t.Errorf("told %v", err)
	}
}

func TestTheServersUserMustReachTheFolder(t *testing.T) {
	t.Parallel()
	above := filepath.Dir(folder(t))
	dir := filepath.Join(above, "closed", "data")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stranger := &user{"stranger", 54321, 54321}
	err := stranger.reach(dir)
	if err == nil || !strings.Contains(err.Error(), "cannot enter "+filepath.Join(above, "closed")+":") {
		t.Errorf("a closed folder above: %v", err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	if err := stranger.reach(dir); err != nil {
		t.Errorf("the folder itself is ours to open: %v", err)
	}
}

func TestEphemeralIsRemoved(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, Options{Dir: dir, FsyncOff: true, Ephemeral: true})
	value(t, s, "SELECT 1::text")
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestDoneTellsOfACrash(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: folder(t)})
	select {
	case <-s.Done():
		t.Fatal("done while it runs")
	default:
	}
	if err := syscall.Kill(s.PID(), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Stop(); err != nil {
		t.Logf("Stop of a server that has gone: %v", err)
	}
}

// TestAsAnotherUser is the way of those who are not root; those who are become somebody else for it.
func TestAsAnotherUser(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(folder(t))
	cmd := exec.Command(os.Args[0])
	if os.Geteuid() == 0 {
		const nobody = 65534
		program := filepath.Join(dir, "program") // ours may lie where nobody can read it
		copyFile(t, program, os.Args[0])
		cmd = exec.Command(program)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	cmd, pid, problem := spawnCmd(t, cmd, filepath.Join(dir, "pg"))
	if problem != "" {
		t.Fatal(problem)
	}
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err == nil && info.Sys().(*syscall.Stat_t).Uid == 0 {
		t.Error("the server runs as root")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := awaitPredecessor(ctx, filepath.Join(dir, "pg", dataFolder)); err != nil {
		t.Error(err)
	}
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	r, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
