package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is what we need of postmaster.pid, which a running server keeps in its cluster and a killed one leaves behind.
type pidFile struct {
	pid    int
	shm    string // the id of its shared memory, "" until it is known
	status string // "ready" once it takes connections
}

// readPIDFile returns nil when there is no such file.
func readPIDFile(data string) (*pidFile, error) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: read the server's pid file: %w", err)
	}
	lines := strings.Split(string(text), "\n")
	for len(lines) < 8 {
		lines = append(lines, "")
	}
	var f pidFile
	f.pid, _ = strconv.Atoi(strings.TrimSpace(lines[0])) // 0 when the file was cut off while it was written
	if ids := strings.Fields(lines[6]); len(ids) == 2 {
		f.shm = ids[1]
	}
	f.status = strings.TrimSpace(lines[7])
	return &f, nil
}

// awaitPredecessor waits until no server runs on the cluster. The caller holds the folder's lock, so a server that still runs
// has lost its program and is going down, or was started by hand, which ends in an error when the context does.
func awaitPredecessor(ctx context.Context, data string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for told := false; ; {
		f, err := readPIDFile(data)
		if err != nil || f == nil {
			return err
		}
		serving := f.pid > 0 && serves(f.pid, data)
		if !serving && !attached(f.shm) {
			return disarm(f, data)
		}
		if serving && orphansStay && !told {
			_ = syscall.Kill(f.pid, syscall.SIGINT)
			told = true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: a server with the process id %d still runs on %s: stop it (kill -INT %d) and start again",
				ErrInUse, f.pid, data, f.pid)
		}
	}
}

// disarm removes the pid file of a server that was killed when its number is another process by now, which PostgreSQL would
// take for a server. Otherwise the file stays: PostgreSQL looks by it for sessions of that server that have not ended yet.
func disarm(f *pidFile, data string) error {
	if f.pid > 0 && errors.Is(syscall.Kill(f.pid, 0), syscall.ESRCH) {
		return nil
	}
	if err := os.Remove(filepath.Join(data, "postmaster.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("embedded: remove what a killed server left: %w", err)
	}
	return nil
}
