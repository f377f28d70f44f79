package embedded

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Superuser is the role that owns the cluster.
const Superuser = "postgres"

// Options says where the server lives and how. Only Dir is required.
type Options struct {
	Dir       string            // the folder; made when it is missing
	ICULocale string            // a locale like "en-US" makes a new cluster collate by ICU; empty means bytes (C.UTF-8)
	Settings  map[string]string // configuration parameters, given to the server on its command line

	// FsyncOff lets a crash of the machine lose or break the data. Only for tests that promise nothing about durability.
	FsyncOff bool
	// Ephemeral removes the folder when the program ends, however it ends.
	Ephemeral bool
}

// Server is a running server. Its methods are for one goroutine at a time, but for DSN and Done.
type Server struct {
	layout  layout
	bin     string
	proc    *process
	release func() // gives the folder's lock back
	watch   *watcher
}

// Start makes the cluster if the folder has none, and runs the server until it answers. A server of an earlier program
// that is still going down in the same folder is waited for; a folder that another program uses is an error.
func Start(ctx context.Context, o Options) (*Server, error) {
	who, err := serverUser(filepath.Join(o.Dir, dataFolder))
	if err != nil {
		return nil, err
	}
	place, err := prepare(o.Dir, who)
	if err != nil {
		return nil, err
	}
	release, err := lockFolder(place.dir)
	if err != nil {
		return nil, err
	}
	s := &Server{layout: place, release: release}
	if err := s.start(ctx, o, who); err != nil {
		release()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, o Options, who *user) error {
	if err := awaitPredecessor(ctx, s.layout.data); err != nil {
		return err
	}
	if err := s.layout.clear(); err != nil {
		return err
	}
	major, err := madeBy(s.layout.data)
	if err != nil {
		return err
	}
	in, err := find(ctx, major)
	if err != nil {
		return err
	}
	s.bin = in.bin
	if major == 0 {
		if err := initialize(ctx, in.bin, s.layout, o, who); err != nil {
			return err
		}
	}
	for {
		err := s.launch(ctx, o, who)
		if err == nil || !strings.Contains(err.Error(), lastBreath) {
			return err
		}
		select { // sessions of a server that was killed end when they notice
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// lastBreath is what a server says that finds sessions of its predecessor alive.
const lastBreath = "pre-existing shared memory block"

// launch is one try to run the server.
func (s *Server) launch(ctx context.Context, o Options, who *user) error {
	log, err := s.layout.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.layout.command(s.bin, "postgres", s.arguments(o)...)
	cmd.Stdout, cmd.Stderr = log, log
	if s.proc, err = launch(cmd, who, endSignal(o)); err != nil {
		return err
	}
	if err = s.awaitReady(ctx); err == nil {
		s.watch, err = guard(s.proc, s.layout, endSignal(o), o.Ephemeral)
	}
	if err != nil {
		_ = s.proc.end(syscall.SIGQUIT)
	}
	return err
}

// endSignal is what ends the server with its program: a fast shutdown, or at once where the data is not worth a checkpoint.
func endSignal(o Options) syscall.Signal {
	if o.FsyncOff || o.Ephemeral {
		return syscall.SIGQUIT
	}
	return syscall.SIGINT
}

func (s *Server) arguments(o Options) []string {
	args := []string{"-D", s.layout.data, "-k", s.layout.socket, "-p", fmt.Sprint(port),
		"-c", "listen_addresses=", "-c", "unix_socket_permissions=0700",
		"-c", "logging_collector=off", "-c", "timezone=UTC", "-c", "log_timezone=UTC", "-c", "cluster_name=settlementd"}
	if o.FsyncOff {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	for name, value := range o.Settings {
		args = append(args, "-c", name+"="+value)
	}
	return args
}

// awaitReady waits until the server takes connections. It reads the status line of postmaster.pid, as pg_ctl does.
func (s *Server) awaitReady(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		f, err := readPIDFile(s.layout.data)
		if err == nil && f != nil && f.pid == s.proc.pid() && f.status == "ready" {
			return nil
		}
		select {
		case <-s.proc.done:
			return fmt.Errorf("embedded: the server ended at its start: %w\n%s", s.proc.err, s.layout.logTail())
		case <-ctx.Done():
			return fmt.Errorf("embedded: the server did not get ready: %w\n%s", ctx.Err(), s.layout.logTail())
		case <-tick.C:
		}
	}
}

// DSN is the connection string for a role and a database.
func (s *Server) DSN(role, database string) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable",
		quote(s.layout.socket), port, quote(role), quote(database))
}

func quote(v string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
}

// Socket is the path of the server's unix socket.
func (s *Server) Socket() string {
	return filepath.Join(s.layout.socket, fmt.Sprintf(".s.PGSQL.%d", port))
}

// LogFile is where the server writes what happens.
func (s *Server) LogFile() string { return s.layout.log }

// PID is the process id of the server's first process.
func (s *Server) PID() int { return s.proc.pid() }

// Done is closed when the server has ended, whoever ended it.
func (s *Server) Done() <-chan struct{} { return s.proc.done }

// Reload makes the server read its configuration again. It returns before all of the server's processes have.
func (s *Server) Reload() error {
	if err := s.proc.signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("embedded: reload: %w", err)
	}
	return nil
}

// Stop shuts the server down: sessions are cut, what is committed is on disk. It does nothing the second time.
func (s *Server) Stop() error {
	return s.stop(syscall.SIGINT)
}

// Kill ends the server by SIGKILL, as a crash would, and returns when its last process is gone.
func (s *Server) Kill() error {
	return s.stop(syscall.SIGKILL)
}

func (s *Server) stop(sig syscall.Signal) error {
	if s.release == nil {
		return nil
	}
	defer func() {
		s.watch.dismiss()
		s.release()
		s.release = nil
	}()
	err := s.proc.end(sig)
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if left := awaitPredecessor(ctx, s.layout.data); left != nil {
		return left
	}
	if err != nil && sig != syscall.SIGKILL {
		return fmt.Errorf("embedded: stop: %w\n%s", err, s.layout.logTail())
	}
	return nil
}

const (
	dataFolder  = "pgdata"
	port        = 5432 // part of the socket's name only
	stopTimeout = 30 * time.Second
)
