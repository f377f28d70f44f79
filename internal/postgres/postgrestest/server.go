package postgrestest

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/postgres/embedded"
)

// Server is a server of one test alone, which may be killed, started again and set differently. It keeps its promises of
// durability: fsync is on.
type Server struct {
	t       testing.TB
	options embedded.Options
	cluster *cluster
}

// NewServer starts a server for the test, with the migrated template in it, and stops it when the test ends. The settings are
// added to those that keep it small; what is set here cannot be changed by Set.
func NewServer(t testing.TB, more map[string]string) *Server {
	t.Helper()
	all := maps.Clone(settings)
	delete(all, "max_wal_senders") // commits wait for a standby only where there could be one
	delete(all, "wal_level")
	maps.Copy(all, more)
	s := &Server{t: t, options: embedded.Options{Dir: Dir(t), ICULocale: icuLocale(), Settings: all}, cluster: &cluster{}}
	t.Cleanup(s.Stop)
	s.Start()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	if err := s.cluster.migrate(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// New returns a new database on the server. It goes with the server.
func (s *Server) New() *DB {
	s.t.Helper()
	name, err := s.cluster.create(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return &DB{Name: name, t: s.t, cluster: s.cluster}
}

// Start runs the server again after Stop or Kill, on the same data and at the same address.
func (s *Server) Start() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), startTimeout)
	defer cancel()
	server, err := embedded.Start(ctx, s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cluster.server = server
}

// Stop shuts the server down.
func (s *Server) Stop() {
	s.t.Helper()
	if s.cluster.server == nil {
		return
	}
	if err := s.cluster.server.Stop(); err != nil {
		s.t.Error(err)
	}
}

// Kill ends the server by SIGKILL.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.cluster.server.Kill(); err != nil {
		s.t.Error(err)
	}
}

// Set changes a setting for the whole server while it runs, and returns when the server has read it.
func (s *Server) Set(name, value string) {
	s.t.Helper()
	s.reload(fmt.Sprintf("ALTER SYSTEM SET %s = %s", pgx.Identifier{name}.Sanitize(), literal(value)), name, true)
}

// Reset takes a change of Set back.
func (s *Server) Reset(name string) {
	s.t.Helper()
	s.reload("ALTER SYSTEM RESET "+pgx.Identifier{name}.Sanitize(), name, false)
}

// reload waits until a session sees the setting come from the file that ALTER SYSTEM writes, or no longer.
func (s *Server) reload(alter, name string, changed bool) {
	s.t.Helper()
	conn := s.connect()
	defer conn.Close(context.Background())
	if _, err := conn.Exec(s.t.Context(), alter); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cluster.server.Reload(); err != nil {
		s.t.Fatal(err)
	}
	Until(s.t, "the server reads "+name+" again", func() bool {
		var seen bool
		err := conn.QueryRow(s.t.Context(),
			"SELECT coalesce(sourcefile LIKE '%postgresql.auto.conf', false) FROM pg_settings WHERE name = $1", name).Scan(&seen)
		if err != nil {
			s.t.Fatal(err)
		}
		return seen == changed
	})
}

func (s *Server) connect() *pgx.Conn {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.cluster.server.DSN(embedded.Superuser, "postgres"))
	if err != nil {
		s.t.Fatal(err)
	}
	return conn
}

const standbys = "synchronous_standby_names"

// HangCommits makes every COMMIT that wrote something wait, after it was flushed, for a standby that does not exist. It returns
// when that is so.
func (s *Server) HangCommits() {
	s.t.Helper()
	s.Set(standbys, "nobody")
	look := s.connect()
	defer look.Close(context.Background())
	Until(s.t, "a COMMIT hangs", func() bool { return s.commitHangs(look) })
}

// commitHangs commits something to see whether it hangs. The setting reaches the process that makes it so a little later than the sessions.
func (s *Server) commitHangs(look *pgx.Conn) bool {
	s.t.Helper()
	try := s.connect()
	pid := try.PgConn().PID()
	done := make(chan struct{})
	go func() {
		defer close(done)
		// It ends with an error when it hangs, because it is cut off then.
		_, _ = try.Exec(context.WithoutCancel(s.t.Context()), "SELECT pg_logical_emit_message(true, 'probe', '')")
		_ = try.Close(context.Background())
	}()
	hangs := false
	Until(s.t, "the probe ends or hangs", func() bool {
		select {
		case <-done:
			return true
		default:
		}
		err := look.QueryRow(s.t.Context(),
			"SELECT coalesce(bool_or(wait_event = 'SyncRep'), false) FROM pg_stat_activity WHERE pid = $1", pid).Scan(&hangs)
		if err != nil {
			s.t.Fatal(err)
		}
		return hangs
	})
	if hangs {
		if _, err := look.Exec(s.t.Context(), "SELECT pg_terminate_backend($1)", pid); err != nil {
			s.t.Fatal(err)
		}
	}
	<-done
	return hangs
}

// ReleaseCommits ends what HangCommits began: those that wait are answered.
func (s *Server) ReleaseCommits() {
	s.t.Helper()
	s.Reset(standbys)
}

const (
	untilTimeout = 30 * time.Second
	untilPeriod  = 5 * time.Millisecond
)

// Until waits for a condition that nothing can signal to the test, and fails the test when it does not come true in time.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), untilTimeout)
	defer cancel()
	tick := time.NewTicker(untilPeriod)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
