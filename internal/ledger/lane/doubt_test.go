package lane_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// behindProxy makes lanes that reach the database through a proxy, with one connection.
func behindProxy(t *testing.T, db *postgrestest.DB) (*world, *postgrestest.Proxy) {
	t.Helper()
	seed(db, acme, alice, bob)
	proxy := postgrestest.NewProxy(t, db)
	pool, err := postgres.Open(t.Context(), postgres.Config{DSN: proxy.ServiceDSN(), Kind: postgres.Ledger, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: db, pool: pool, log: &records{}}
	w.lanes = lane.New(ledgerdb.New(pool), lane.Config{BatchMax: 256, QueueMax: 4096, TurnsMax: 1, RunnersMax: 3, Log: slog.New(slog.NewTextHandler(w.log, nil))})
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		w.lanes.Close(ctx)
		pool.Close()
	})
	return w, proxy
}

func TestTheAnswerToCommitIsLost(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]postgrestest.Fault{
		"after":             {postgrestest.CutAfterCommit},
		"before":            {postgrestest.CutBeforeCommit},
		"before, after":     {postgrestest.CutBeforeCommit, postgrestest.CutAfterCommit},
		"on":                {postgrestest.CutOnCommit},
		"before and before": {postgrestest.CutBeforeCommit, postgrestest.CutBeforeCommit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, proxy := behindProxy(t, postgrestest.New(t))
			for _, f := range faults {
				proxy.Next(f)
			}
			// It takes all credits: decided a second time it would be denied.
			if answer := w.granted(reserve("r1", alice, credits)); answer.Replayed {
				t.Error("the call that made it is told that it stood")
			}
			if n := w.count("SELECT count(*) FROM entries"); n != 1 {
				t.Errorf("%d entries", n)
			}
			if w.lanes.InDoubt(acme, "r1") {
				t.Error("it is still in doubt")
			}
			w.sound()
		})
	}
}

func TestABatchWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, fault := range []postgrestest.Fault{postgrestest.CutAfterCommit, postgrestest.CutBeforeCommit} {
		t.Run(fmt.Sprint(fault), func(t *testing.T) {
			t.Parallel()
			w, proxy := behindProxy(t, postgrestest.New(t))
			proxy.Next(fault)
			for id, err := range w.batchOf(10) {
				if err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
			w.sound()
		})
	}
}

func TestADatabaseThatIsAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	w, proxy := behindProxy(t, postgrestest.New(t))
	proxy.Refuse()
	if _, err := w.reserve(t.Context(), reserve("r1", alice)); !errors.Is(err, lane.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	proxy.Accept()
	if answer := w.granted(reserve("r1", alice)); answer.Replayed {
		t.Error("it stood although it was never sent")
	}
	w.sound()
}

// The database goes away with the COMMIT, and comes back later: until then nobody can know.
func TestAnUnknownFateIsUnavailableUntilItIsDecided(t *testing.T) {
	t.Parallel()
	w, proxy := behindProxy(t, postgrestest.New(t))
	in := reserve("r1", alice, credits)
	struck := proxy.Next(postgrestest.CutAfterCommit)
	answer := make(chan error, 1)
	go func() {
		_, err := w.reserve(t.Context(), in)
		answer <- err
	}()
	<-struck
	proxy.Refuse()
	if err := <-answer; err == nil {
		t.Log("the fate was learnt before the database went away") // the answer is right all the same
	} else if !errors.Is(err, lane.ErrUnavailable) {
		t.Errorf("got %v", err)
	} else if !w.lanes.InDoubt(acme, "r1") {
		t.Error("it is not in doubt")
	}
	proxy.Accept()
	postgrestest.Until(t, "the fate is known", func() bool { return !w.lanes.InDoubt(acme, "r1") })
	if again := w.granted(in); !again.Replayed {
		t.Error("decided anew")
	}
	w.sound()
}

// COMMIT hangs for a standby that does not come. Nobody gets a definite answer, whatever they ask, until it is decided.
func TestACommitThatHangs(t *testing.T) {
	t.Parallel()
	server := postgrestest.NewServer(t, nil)
	db := server.New()
	seed(db, acme, alice, bob)
	w := newReplica(t, db)
	server.HangCommits()
	in := reserve("r1", alice, credits)
	first := make(chan error, 1)
	go func() {
		_, err := w.reserve(context.Background(), in)
		first <- err
	}()
	postgrestest.Until(t, "it is in doubt", func() bool { return w.lanes.InDoubt(acme, "r1") })
	if _, err := w.reserve(t.Context(), in); !errors.Is(err, lane.ErrUnavailable) {
		t.Errorf("the same call meanwhile: %v", err)
	}
	if err := <-first; !errors.Is(err, lane.ErrUnavailable) {
		t.Errorf("the call itself: %v", err)
	}
	if !w.lanes.InDoubt(acme, "r1") {
		t.Error("it is no longer in doubt although it hangs")
	}
	server.ReleaseCommits()
	postgrestest.Until(t, "it is decided", func() bool { return !w.lanes.InDoubt(acme, "r1") })
	if again := w.granted(in); !again.Replayed {
		t.Error("decided anew")
	}
	w.sound()
	if _, err := w.cancel(t.Context(), ledger.ReservationID("r1")); err != nil {
		t.Error(err)
	}
}
