package lane_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// batchOf sends so many reservations as one batch, and returns each call's error by its id.
func (w *world) batchOf(n int) map[string]error {
	w.t.Helper()
	g := w.gate(acme)
	type answer struct {
		id  string
		err error
	}
	answers := make(chan answer, n)
	for i := range n {
		go func() {
			id := fmt.Sprintf("r%d", i)
			_, err := w.reserve(w.t.Context(), reserve(id, []ledger.AccountID{alice, bob}[i%2]))
			answers <- answer{id, err}
		}()
	}
	w.untilQueued(acme, n)
	g.open(w.t)
	byID := map[string]error{}
	for range n {
		a := <-answers
		byID[a.id] = a.err
	}
	return byID
}

// onlyOneFails checks that exactly the call of r7 ended with an error, and that nothing of it stands.
func (w *world) onlyOneFails(answers map[string]error, want error) {
	w.t.Helper()
	for id, err := range answers {
		switch {
		case id == "r7" && !errors.Is(err, want):
			w.t.Errorf("%s ended with %v, not %v", id, err, want)
		case id != "r7" && err != nil:
			w.t.Errorf("%s pays for its neighbour: %v", id, err)
		}
	}
	if n := w.count("SELECT count(*) FROM reservations"); n != len(answers)-1 {
		w.t.Errorf("%d reservations of %d calls", n, len(answers))
	}
	if n := w.count("SELECT count(*) FROM reservations WHERE reservation_id = 'r7'"); n != 0 {
		w.t.Error("a part of the culprit stands")
	}
}

func TestAConflictingEntryFailsItsOwnCallOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.db.Exec(`INSERT INTO entries (tenant_id, event_key, event_type, account_id, budget_held_change, budget_spent_change, created_at)
		VALUES ($1, 'reserve r7', 'RESERVED', $2, 0, 0, now())`, acme, bob)
	w.onlyOneFails(w.batchOf(20), lane.ErrInternal)
	if log := w.log.String(); !strings.Contains(log, "r7") || !strings.Contains(log, "every_event_happens_once") {
		t.Errorf("the log does not name it: %s", log)
	}
	w.sound()
}

func TestARefusedRowFailsItsOwnCallOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onInsertOf("reservations", "NEW.reservation_id = 'r7'", "RAISE EXCEPTION 'a fault of ours'")
	w.onlyOneFails(w.batchOf(20), lane.ErrInternal)
	if !strings.Contains(w.log.String(), "a fault of ours") {
		t.Error("the cause is not in the log")
	}
	w.sound()
}

// A lost race is tried again, a few times.
func TestARaceThatIsAlwaysLostIsAborted(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"40001", "40P01", "23505"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.onInsertOf("reservations", "NEW.reservation_id = 'r7'", "RAISE EXCEPTION 'lost' USING ERRCODE = '"+code+"'")
			w.onlyOneFails(w.batchOf(8), lane.ErrAborted)
			w.sound()
		})
	}
}

func TestARaceThatIsLostTwiceIsWon(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"reservations", "entries"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.db.Exec("CREATE SEQUENCE losses; GRANT USAGE ON losses TO settlementd_service") // counts through rollbacks
			w.onInsertOf(table, "nextval('losses') <= 2", "RAISE EXCEPTION 'lost' USING ERRCODE = '40001'")
			w.granted(reserve("r1", alice))
			w.sound()
		})
	}
}

// A statement that is cut off by its time limit comes later in the batch than the locks.
func TestASlowStatementIsUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onInsertOf("reservations", "NEW.reservation_id = 'r7'", "PERFORM pg_sleep(60)")
	w.onlyOneFails(w.batchOf(2+6), lane.ErrUnavailable)
	w.sound()
}

func TestALostConnectionIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.db.Exec("CREATE SEQUENCE losses; GRANT USAGE ON losses TO settlementd_service")
	w.onInsertOf("entries", "nextval('losses') = 1", "PERFORM pg_terminate_backend(pg_backend_pid())")
	for id, err := range w.batchOf(10) {
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if n := w.count("SELECT count(*) FROM reservations"); n != 10 {
		t.Errorf("%d reservations", n)
	}
	w.sound()
}

// onInsertOf makes the database do something when a row comes that fulfils the condition.
func (w *world) onInsertOf(table, condition, action string) {
	w.t.Helper()
	w.db.Exec(fmt.Sprintf(`CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF %s THEN %s; END IF;
			RETURN NEW;
		END $$`, condition, action))
	w.db.Exec("CREATE TRIGGER fault BEFORE INSERT ON " + table + " FOR EACH ROW EXECUTE FUNCTION fault()")
}

// A call that loses its race to another server finds the winner's rows.
func TestTwoServersOnTheSameIds(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	seed(db, acme, alice, bob)
	a, b := newReplica(t, db), newReplica(t, db)
	const n = 100
	var answers [n][2]ledger.ReserveAnswer
	each(2*n, func(i int) {
		w := []*world{a, b}[i%2]
		id := i / 2
		// Together the reservations take all there is, so one that is decided twice is denied.
		in := reserve(fmt.Sprintf("r%d", id), []ledger.AccountID{alice, bob}[id%2], 2*credits/n)
		answer, err := w.reserve(t.Context(), in)
		if err != nil || len(answer.Denied) > 0 {
			t.Errorf("%s: %v %v", in.ID, answer.Denied, err)
		}
		answers[id][i%2] = answer
	})
	for id, both := range answers {
		if both[0].Replayed == both[1].Replayed {
			t.Errorf("r%d was made %t, %t by the two servers", id, !both[0].Replayed, !both[1].Replayed)
		}
	}
	a.sound()
}
