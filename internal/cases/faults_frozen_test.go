package cases_test

import (
	"context"
	"syscall"
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// A server is frozen between the locks of a Settle and its first write, as a virtual machine that is moved. Another server settles before
// long, and the frozen one, when it wakes, does not settle a second time.
func TestAFrozenServerGivesItsLocksBack(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	x.Granted(t, "r1", "k1")
	p := x.serve()
	x.DB.Exec(`CREATE OR REPLACE FUNCTION settlement_now() RETURNS timestamptz LANGUAGE plpgsql VOLATILE SET lock_timeout = 0 AS $$
		BEGIN
			PERFORM pg_advisory_xact_lock_shared(1);
			RETURN clock_timestamp();
		END $$`)
	h := x.hold("SELECT pg_advisory_xact_lock(1)")
	failed := apptest.Settlement("r1", "k1", apptest.Failed(apptest.Money(7)))
	frozen := make(chan *settlementv1.SettleResponse, 1)
	go func() {
		resp, err := p.Settlements.Settle(context.Background(), failed)
		if err != nil {
			indefinite(t, "the call at the frozen server", err)
		}
		frozen <- resp
	}()
	x.untilBlocked(1) // it has its locks, and asks for the time
	p.signal(syscall.SIGSTOP)
	h.release()
	postgrestest.Until(t, "another server settles", func() bool {
		resp, err := x.Settlements.Settle(t.Context(), failed)
		if err != nil {
			indefinite(t, "the call at another server", err)
			return false
		}
		wantDisposition(t, resp, nil, settlementv1.Disposition_DISPOSITION_APPLIED)
		return true
	})
	p.signal(syscall.SIGCONT)
	if resp := <-frozen; resp != nil {
		wantDisposition(t, resp, nil, settlementv1.Disposition_DISPOSITION_REPLAYED)
	}
	x.wantCredits(apptest.Credits, 0)
	if n := x.entries("end r1"); n != 1 {
		t.Errorf("ended %d times", n)
	}
	x.whole()
}
