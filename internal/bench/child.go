package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// child is a server in a process of its own.
type child struct {
	address string
	cmd     *exec.Cmd
	input   io.WriteCloser
	lines   *bufio.Scanner
	done    chan struct{} // closed when it has ended, and err is set by then
	err     error

	patience time.Duration // with its answers and its end

	mu sync.Mutex // a question and its answer are one
}

// patience is how long a server may take to answer and to end.
const patience = 20 * time.Second

// startChild runs the program of a server, which writes its complaints to log.
func startChild(program []string, log io.Writer) (*child, error) {
	c := &child{cmd: exec.Command(program[0], program[1:]...), done: make(chan struct{}), patience: patience}
	c.cmd.Stderr = log
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "SETTLEMENTD_") { // what is measured is what the command line says
			c.cmd.Env = append(c.cmd.Env, e)
		}
	}
	var err error
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	output, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	c.lines = bufio.NewScanner(output)
	if err := c.launch(); err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	if !c.listen() {
		return nil, errors.Join(errors.New("the server ended at its start"), c.stop())
	}
	c.address = c.lines.Text()
	return c, nil
}

// launch starts the process in a group of its own: a Ctrl-C at the terminal is for us, not for it.
func (c *child) launch() error {
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(c.cmd.SysProcAttr)
	started := make(chan error, 1)
	go func() {
		// To the kernel the parent is the thread that forked, so it must live as long as the child does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			state, err := c.cmd.Process.Wait() // not cmd.Wait, which would close the output under its reader
			if err == nil && !state.Success() {
				err = fmt.Errorf("the server ended with %v", state)
			}
			c.err = err
			close(c.done)
		}
	}()
	return <-started
}

// usage asks the server what it used so far. Its peak of memory begins anew where that is to be forgotten.
func (c *child) usage(forget bool) (footprint, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	question := "usage\n"
	if forget {
		question = "forget\n"
	}
	var u footprint
	if _, err := io.WriteString(c.input, question); err != nil { // a line always fits: every one before it was answered
		return u, fmt.Errorf("ask the server for its usage: %w", err)
	}
	if !c.listen() {
		return u, errors.Join(errors.New("the server does not say what it used: it has ended, or was made to"), c.lines.Err())
	}
	if err := json.Unmarshal(c.lines.Bytes(), &u); err != nil {
		return u, fmt.Errorf("the server's usage: %w", err)
	}
	return u, nil
}

// listen waits for the server's next line. One that says nothing for too long is ended by force.
func (c *child) listen() bool {
	timer := time.AfterFunc(c.patience, c.kill)
	defer timer.Stop()
	return c.lines.Scan()
}

func (c *child) kill() { _ = c.cmd.Process.Kill() } // of one that has ended it does nothing

// stop ends the server, by force if it takes too long, and waits for it.
func (c *child) stop() error {
	_ = c.input.Close() // which ends it
	timer := time.AfterFunc(c.patience, c.kill)
	defer timer.Stop()
	<-c.done
	return c.err
}

// awaitServing waits until the server can carry out calls.
func (c *child) awaitServing(ctx context.Context) error {
	conn, err := grpc.NewClient(c.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	states, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	for err == nil {
		var state *healthpb.HealthCheckResponse
		if state, err = states.Recv(); err == nil && state.GetStatus() == healthpb.HealthCheckResponse_SERVING {
			return nil
		}
	}
	return fmt.Errorf("the server does not serve: %w", err)
}
