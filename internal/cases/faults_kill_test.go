package cases_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// ending is an outcome with what must have happened before it.
type ending struct {
	prepare func(x *site, id string)
	settle  func(id string) *settlementv1.SettleRequest
}

func endings() map[string]ending {
	running := func(x *site, id string) { x.Granted(x.t, id, "k"+id, micros(10)) }
	checked := func(x *site, id string) {
		x.Granted(x.t, id, "", micros(10))
		x.Permitted(x.t, apptest.Check(id, "c"+id, apptest.Input))
	}
	of := func(outcome any, change ...func(*settlementv1.SettleRequest)) func(id string) *settlementv1.SettleRequest {
		return func(id string) *settlementv1.SettleRequest { return apptest.Settlement(id, "k"+id, outcome, change...) }
	}
	ofCheck := func(outcome any) func(id string) *settlementv1.SettleRequest {
		return func(id string) *settlementv1.SettleRequest {
			return apptest.Settlement(id, "", outcome, apptest.Checked("c"+id))
		}
	}
	cost := apptest.Money(7)
	return map[string]ending{
		"completed":                     {running, of(apptest.Completed(cost))},
		"provider_failed":               {running, of(apptest.Failed(cost))},
		"policy_rejected input":         {checked, ofCheck(apptest.Rejected(apptest.Input, cost))},
		"policy_rejected output":        {running, of(apptest.Rejected(apptest.Output, cost))},
		"moderation_unavailable input":  {checked, ofCheck(apptest.Unavailable(apptest.Input))},
		"moderation_unavailable output": {running, of(apptest.Unavailable(apptest.Output))},
		"submission_uncertain":          {running, of(apptest.Uncertain())},
		"cancelled":                     {checked, ofCheck(apptest.Cancelled())},
		"cancelled, and it was not sent": {running, func(id string) *settlementv1.SettleRequest {
			return apptest.Settlement(id, "", apptest.Cancelled(), apptest.NotSent("k"+id))
		}},
		"superseded": {func(x *site, id string) {
			running(x, id)
			x.Settle(x.t, id, "k"+id, apptest.Failed(nil))
		}, of(apptest.Rejected(apptest.Output, cost))},
	}
}

// points are the statements of a Settle, in their order, and its COMMIT.
var points = []string{
	"UPDATE ON accounts", "UPDATE ON providers", "UPDATE ON budgets", "UPDATE ON reservations", "UPDATE ON lines",
	"INSERT ON entries", "INSERT ON exceptions", "COMMIT",
}

// The process is killed before each statement of a Settle. The database is left with a transaction that nobody waits for: it may carry on, and
// commit, or end. Either way everything of the call stands or nothing, and the next process answers the call accordingly.
func TestCase29KilledBetweenAnyTwoStatements(t *testing.T) {
	t.Parallel()
	for name, e := range endings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSite(t)
			x.roomy()
			grantCredits(t, x.Service, 1_000_000)
			p, hit, stood := x.serve(), 0, 0
			for i, point := range points {
				for _, carriesOn := range []bool{true, false} {
					k := &killing{x: x, p: p, point: point, carriesOn: carriesOn, ending: e, id: fmt.Sprintf("r%d%t", i, carriesOn)}
					if !k.run() {
						break // this outcome does not come here
					}
					hit++
					stood += k.stood
					p = k.p
				}
			}
			if hit < 6 || stood == 0 || stood == hit {
				t.Errorf("%d times killed, %d times it stood", hit, stood)
			}
			x.whole()
		})
	}
}

// killing is one Settle whose process is killed on its way.
type killing struct {
	x         *site
	p         *process
	point     string
	carriesOn bool
	ending    ending
	id        string
	stood     int
}

// run tells whether the call came to the point. It leaves a new process.
func (k *killing) run() bool {
	x, t := k.x, k.x.t
	t.Helper()
	k.ending.prepare(x, k.id)
	before := k.changes()
	x.stopAt(k.point)
	h := x.hold("SELECT pg_advisory_xact_lock(1)")
	answered := make(chan error, 1)
	go func() {
		_, err := k.p.Settlements.Settle(context.Background(), k.ending.settle(k.id))
		answered <- err
	}()
	if !k.arrives(answered) {
		h.release()
		x.mend()
		return false
	}
	k.p.kill()
	indefinite(t, k.point, <-answered)
	if !k.carriesOn {
		x.terminateBackends()
	}
	h.release()
	x.whole() // when the transaction is over
	x.mend()
	k.stood = k.changes() - before
	if k.stood != 0 && k.stood != 1 {
		t.Errorf("%s: %d changes", k.point, k.stood)
	}
	k.p = x.serve()
	k.again()
	return true
}

// arrives tells whether the call comes to where it waits, before it is answered.
func (k *killing) arrives(answered chan error) (waits bool) {
	postgrestest.Until(k.x.t, "the call waits or is answered", func() bool {
		waits = k.x.number(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND usename = 'settlementd_service' AND wait_event_type = 'Lock' AND wait_event = 'advisory'`) > 0
		return waits || len(answered) > 0
	})
	return waits
}

// changes counts what the reservation's calls have left: entries and exceptions.
func (k *killing) changes() int {
	return k.x.number(`SELECT (SELECT count(*) FROM entries WHERE reservation_id = $1)
		+ (SELECT coalesce(sum(count), 0) FROM exceptions WHERE reservation_id = $1 AND NOT EXISTS (
			SELECT FROM entries e WHERE e.reservation_id = $1 AND e.created_at = last_seen_at))`, k.id)
}

// again sends the same call twice. The first time it is applied exactly if nothing of it stood.
func (k *killing) again() {
	t := k.x.t
	t.Helper()
	first, second := settlementv1.Disposition_DISPOSITION_APPLIED, settlementv1.Disposition_DISPOSITION_REPLAYED
	if k.stood == 1 {
		first = second
	}
	resp, err := k.p.Settlements.Settle(t.Context(), k.ending.settle(k.id))
	if resp.GetDisposition() == settlementv1.Disposition_DISPOSITION_SUPERSEDED {
		first, second = resp.GetDisposition(), resp.GetDisposition()
	}
	wantDisposition(t, resp, err, first)
	resp, err = k.p.Settlements.Settle(t.Context(), k.ending.settle(k.id))
	wantDisposition(t, resp, err, second)
	if n := k.x.entries("end " + k.id); n > 1 {
		t.Errorf("%s: ended %d times", k.point, n)
	}
	k.x.whole()
}

// SIGTERM while many calls are under way and some wait for a lock: what was answered OK is durable, everybody else can come again, and the
// process ends well.
func TestCase30TerminatedUnderLoad(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]string{"in its own time": "10s", "at once": "0s"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSite(t)
			x.roomy()
			for i := range 8 {
				x.addAccount(fmt.Sprintf("a%d", i))
			}
			x.hold("SELECT FROM accounts WHERE account_id = 'a0' FOR UPDATE")
			p := x.serve("--shutdown-timeout=" + timeout)
			const clients = 64
			ok, working := make([][]string, clients), make(chan struct{}, clients)
			var load sync.WaitGroup
			for i := range clients {
				load.Go(func() {
					for n := 0; ; n++ {
						id := fmt.Sprintf("r%d.%d", i, n)
						resp, err := p.Reservations.Reserve(context.Background(), apptest.Reserve(id, "", from(fmt.Sprintf("a%d", i%8)), micros(1)))
						switch {
						case err == nil && resp.GetGranted() != nil:
							ok[i] = append(ok[i], id)
						case err == nil:
							t.Errorf("%s: denied: %v", id, resp)
						default:
							if status.Code(err) != codes.Unavailable {
								t.Errorf("%s: %v", id, err)
							}
						}
						if n == 3 || i%8 == 0 {
							select {
							case working <- struct{}{}:
							default:
							}
						}
						if p.over() {
							return
						}
					}
				})
			}
			for range clients / 2 {
				<-working
			}
			x.untilBlocked(1)
			p.terminate(30 * time.Second)
			load.Wait()
			answered := 0
			for _, ids := range ok {
				answered += len(ids)
				for _, id := range ids {
					x.Get(t, id)
				}
			}
			if answered == 0 {
				t.Error("no call was answered")
			}
			x.whole()
		})
	}
}

// over tells whether the process has ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
