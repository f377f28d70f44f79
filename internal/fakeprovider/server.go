package fakeprovider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// The kinds of errors of the controls.
var (
	ErrInvalid  = errors.New("invalid")  // 400
	ErrUnknown  = errors.New("unknown")  // 404
	ErrConflict = errors.New("conflict") // 409
)

// Server is the provider, listening. Its methods are what the paths under /control do over HTTP.
type Server struct {
	book   *book
	http   *http.Server
	url    string
	served chan struct{}
	conns  sync.WaitGroup
	close  sync.Once
}

// Start listens and serves until Close.
func Start(o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("fake provider: %w", err)
	}
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("fake provider: %w", err)
	}
	s := &Server{book: newBook(o), url: "http://" + listener.Addr().String(), served: make(chan struct{})}
	s.http = &http.Server{
		// A web page that is open on this machine must not be able to control the provider.
		Handler:           http.NewCrossOriginProtection().Handler(s.routes()),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ConnState:         s.countConns,
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // ends with ErrServerClosed
	}()
	return s, nil
}

// countConns lets Close wait for the goroutine of every connection.
func (s *Server) countConns(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed:
		s.conns.Done()
	default:
	}
}

// URL returns where the server listens, without a trailing slash.
func (s *Server) URL() string { return s.url }

// Close cuts what is held or under way and returns when nothing of the server runs any more.
func (s *Server) Close() error {
	var err error
	s.close.Do(func() {
		s.book.reset(true)
		err = s.http.Close()
		<-s.served
		s.conns.Wait()
		s.book.couriers.Wait()
	})
	return err
}

// ScriptGeneration sets what happens to the generations of a key from now on; an empty key stands for all keys without a script.
func (s *Server) ScriptGeneration(key string, script GenerationScript) error {
	return s.book.scriptGeneration(key, script)
}

// ScriptCheck sets what happens to the checks of a key from now on; an empty key stands for all keys without a script.
func (s *Server) ScriptCheck(key string, script CheckScript) error {
	return s.book.scriptCheck(key, script)
}

// Release lets every held answer of the key go and cuts its hanging ones. It tells how many there were.
func (s *Server) Release(key string) int { return s.book.release(key) }

// Finish ends the newest task of the key, which must be pending.
func (s *Server) Finish(key string, status TaskStatus) error { return s.book.finish(key, status) }

// SendCallback delivers one more callback of the key's newest task and returns the HTTP status of its receiver. An empty status
// tells the truth; any other says what is asked for, true or not.
func (s *Server) SendCallback(ctx context.Context, key string, status TaskStatus) (int, error) {
	return s.book.resend(ctx, key, status)
}

// Counts returns the counters of a key.
func (s *Server) Counts(key string) Counts {
	if key == "" {
		return Counts{}
	}
	counts, _ := s.book.counts(key)
	return counts
}

// Totals returns the counters of all keys together.
func (s *Server) Totals() Counts {
	counts, _ := s.book.counts("")
	return counts
}

// Await returns once the counters of a key, or of all keys where it is empty, are as they should be, or when the context ends.
func (s *Server) Await(ctx context.Context, key string, until func(Counts) bool) error {
	for {
		counts, changed := s.book.counts(key)
		if until(counts) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the counters of key %q, which are %+v: %w", key, counts, ctx.Err())
		}
	}
}

// Usage returns the statement: every charge in the order of acceptance.
func (s *Server) Usage() []Charge { return s.book.statement("") }

// Reset forgets scripts, tasks, charges and counters, cuts what is held, and stops the callbacks under way.
func (s *Server) Reset() { s.book.reset(false) }
