package embedded

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
)

// process is a child of ours. done is closed when it has ended, and err is set by then.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// launch starts a child as the given user, in a process group of its own (a Ctrl-C at the terminal is for us, not for it).
// Where the kernel can, the child gets the signal `last` when we die.
func launch(cmd *exec.Cmd, who *user, last syscall.Signal) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who.credential(), Setpgid: true}
	dieWithParent(cmd.SysProcAttr, last)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// "Parent" is the thread that forked, so it must live as long as the child does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("embedded: start %s: %w", cmd.Path, err)
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// end signals the process and waits for it.
func (p *process) end(sig syscall.Signal) error {
	_ = p.signal(sig) // it may have ended already
	<-p.done
	return p.err
}
