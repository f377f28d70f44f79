package embedded

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// watcher is a small shell that outlives us: when its input ends without the word "done" we have died, and it ends the
// server. Then it removes what it was told to remove.
type watcher struct {
	cmd   *exec.Cmd
	input io.WriteCloser
}

const watch = `read -r word
if [ "$word" != done ]; then
	kill -s "$1" "$2" 2>/dev/null
	while kill -0 "$2" 2>/dev/null; do sleep 0.1; done
fi
shift 2
[ $# -eq 0 ] || rm -rf -- "$@"`

// guard starts a watcher where one is needed: the kernel cannot end the server with us, or the folder must go.
func guard(p *process, place layout, last syscall.Signal, remove bool) (*watcher, error) {
	if !remove && !orphansStay {
		return nil, nil
	}
	name := "INT"
	if last == syscall.SIGQUIT {
		name = "QUIT"
	}
	args := []string{"-c", watch, "watcher", name, strconv.Itoa(p.pid())}
	if remove {
		args = append(args, place.socket, place.dir)
	}
	cmd := exec.Command("/bin/sh", args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends our group must not end it
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("embedded: start the watcher: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("embedded: start the watcher: %w", err)
	}
	return &watcher{cmd, input}, nil
}

// dismiss tells the watcher that the server has ended, and waits until it has cleaned up.
func (w *watcher) dismiss() {
	if w == nil {
		return
	}
	_, _ = io.WriteString(w.input, "done\n")
	_ = w.input.Close()
	_ = w.cmd.Wait()
}
