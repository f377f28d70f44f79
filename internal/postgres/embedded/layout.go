package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// layout says where things are; see the package comment.
type layout struct {
	dir, data, log, socket string
	logFrom                int64 // where this start's part of the log begins
}

const (
	socketPathMax = 100 // the limit is 107 bytes on Linux and 103 on BSD and macOS
	logBytesMax   = 16 << 20
	logTailBytes  = 2000
)

// prepare makes the folders and sees to it that the server's user can reach them.
func prepare(dir string, who *user) (layout, error) {
	if dir == "" {
		return layout{}, errors.New("embedded: Options.Dir is empty: name a folder for the data")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, fmt.Errorf("embedded: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return layout{}, fmt.Errorf("embedded: make the folder: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return layout{}, fmt.Errorf("embedded: %w", err)
	}
	l := layout{dir: dir, data: filepath.Join(dir, dataFolder), log: filepath.Join(dir, "postgres.log"), socket: filepath.Join(dir, "socket")}
	if err := who.reach(dir); err != nil {
		return layout{}, err
	}
	if len(filepath.Join(l.socket, ".s.PGSQL.5432")) > socketPathMax {
		l.socket = shortSocket(dir)
	}
	return l, makePrivate(l.socket, who)
}

// shortSocket is the same folder at every start, so that starts which were killed leave one folder and not one each.
func shortSocket(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join("/tmp", fmt.Sprintf("settlementd-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:6])))
}

// makePrivate makes a folder that only we and the server's user can enter, and takes an existing one only if it is such a
// folder: another user may have put one there to catch our connections.
func makePrivate(path string, who *user) error {
	err := os.Mkdir(path, 0o700)
	if err == nil {
		return who.own(path)
	}
	if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("embedded: make the folder of the socket: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("embedded: look at the folder of the socket: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !who.mayOwn(int(stat.Uid)) {
		return fmt.Errorf("embedded: %s is not a private folder of ours: remove it", path)
	}
	return who.own(path)
}

// clear removes what a server that was killed has left in the socket's folder. We hold the folder's lock and no server runs.
func (l layout) clear() error {
	for _, name := range []string{".s.PGSQL.5432", ".s.PGSQL.5432.lock"} {
		if err := os.Remove(filepath.Join(l.socket, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("embedded: remove an old socket: %w", err)
		}
	}
	return nil
}

// command is a program of the installation, with an environment in which nothing of ours can change what it does.
func (l layout) command(bin, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Dir = l.dir
	cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "LC_ALL=" + systemLocale(), "TZ=UTC", "HOME=" + l.dir}
	if libraries, ok := os.LookupEnv("LD_LIBRARY_PATH"); ok {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+libraries)
	}
	return cmd
}

func (l *layout) openLog() (*os.File, error) {
	if info, err := os.Stat(l.log); err == nil && info.Size() > logBytesMax {
		if err := os.Truncate(l.log, 0); err != nil {
			return nil, fmt.Errorf("embedded: shorten the log: %w", err)
		}
	}
	f, err := os.OpenFile(l.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded: open the log: %w", err)
	}
	l.logFrom, err = f.Seek(0, io.SeekEnd)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("embedded: open the log: %w", err)
	}
	return f, nil
}

// logTail is the end of what the server said since this start.
func (l layout) logTail() string {
	text, err := os.ReadFile(l.log)
	if err != nil || int64(len(text)) < l.logFrom {
		return ""
	}
	text = text[l.logFrom:]
	if len(text) > logTailBytes {
		text = text[len(text)-logTailBytes:]
	}
	return strings.TrimSpace(string(text))
}

// lockFolder takes the folder for this process. The lock goes with the process, so it is never stale.
func lockFolder(dir string) (release func(), err error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded: lock the folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner, _ := io.ReadAll(f)
		f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("embedded: lock %s: %w", path, err)
		}
		return nil, fmt.Errorf("%w: process %s has it: stop that one, or use another folder than %s",
			ErrInUse, strings.TrimSpace(string(owner)), dir)
	}
	_ = f.Truncate(0) // who has it is only for the error text of others
	_, _ = fmt.Fprintln(f, os.Getpid())
	return func() { f.Close() }, nil
}

// ErrInUse is returned by Start when another program runs a server in the folder.
var ErrInUse = errors.New("embedded: the data folder is in use")
