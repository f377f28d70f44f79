package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// process is a worker in a process of its own, which stops at a point and says so.
type process struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	lines *bufio.Scanner
}

// started runs a worker for an attempt and returns when it has come to the point and waits there.
func started(label string, at Halt) step {
	return func(ctx context.Context, j *job) error {
		return j.launch(ctx, j.stage.config.Program, WorkerOptions{
			Service: j.stage.config.Service, Provider: j.stage.config.Provider.URL(),
			Reservation: j.reservation, Key: j.generation(label), Halt: at,
		}.arguments(), string(at))
	}
}

// launch runs a program and returns when it has said a line.
func (j *job) launch(ctx context.Context, program, arguments []string, want string) error {
	cmd := exec.CommandContext(ctx, program[0], slices.Concat(program[1:], arguments)...)
	// In a group of its own, the kernel wakes and ends a worker that is frozen when the demo is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said := &strings.Builder{}
	cmd.Stderr = said
	p := &process{cmd: cmd}
	var err error
	if p.input, err = cmd.StdinPipe(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	p.lines = bufio.NewScanner(output)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	j.process = p
	if err := p.expect(want); err != nil {
		p.end()
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}

// expect reads the line that the worker must say next.
func (p *process) expect(want string) error {
	if !p.lines.Scan() {
		return errors.Join(fmt.Errorf("the worker ended and did not say %q", want), p.lines.Err())
	}
	if got := p.lines.Text(); got != want {
		return fmt.Errorf("the worker said %q, want %q", got, want)
	}
	return nil
}

// end kills the process, stopped or not, and waits for it. A process that has ended stays as it is.
func (p *process) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// killed ends the worker by SIGKILL, as a crash would.
func killed(_ context.Context, j *job) error {
	p := j.process
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the worker: %w", err)
	}
	_ = p.cmd.Wait() // the state tells
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("the worker ended with %v, want SIGKILL", p.cmd.ProcessState)
	}
	return nil
}

// frozen stops the worker by SIGSTOP. What it waited for comes while it is frozen, so that it goes on the moment it wakes.
func frozen(_ context.Context, j *job) error {
	p := j.process
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freeze the worker: %w", err)
	}
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || !status.Stopped() {
			return fmt.Errorf("freeze the worker: it is %v: %w", status, err)
		}
		_, err = io.WriteString(p.input, "go\n")
		return err
	}
}

// woken lets the frozen worker go on, which must notice by its own clock that its permit is over.
func woken(_ context.Context, j *job) error {
	p := j.process
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("wake the worker: %w", err)
	}
	if err := p.expect(saidTooLate); err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the worker ended with %w", err)
	}
	return nil
}
