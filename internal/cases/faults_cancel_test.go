package cases_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// A thousand clients leave, each a moment later into its call than the one before: from before it is sent to after it is answered. Every
// other call is a Settle of what the one before reserved.
func TestCase28ClientsLeaveAtEveryMoment(t *testing.T) {
	t.Parallel()
	x := newSite(t, func(c *app.Config) { c.PoolSize = 2 })
	x.roomy()
	x.addAccount("bob")
	const calls, rounds, moment = 1000, 10, 40 * time.Microsecond
	for round := range rounds {
		var clients sync.WaitGroup
		for i := range calls / rounds {
			clients.Go(func() {
				id := fmt.Sprintf("r%d.%d", round, i/2)
				ctx, leave := context.WithTimeout(t.Context(), time.Duration(round*calls/rounds+i)*moment)
				defer leave()
				var err error
				if i%2 == 0 {
					_, err = x.Reservations.Reserve(ctx, apptest.Reserve(id, "k"+id, from("bob"), micros(1)))
				} else {
					_, err = x.Settlements.Settle(ctx, apptest.Settlement(id, "k"+id, apptest.Failed(apptest.Money(1))))
				}
				switch status.Code(err) {
				case codes.OK, codes.Canceled, codes.DeadlineExceeded, codes.NotFound:
				default:
					t.Errorf("%s: %v", id, err)
				}
			})
		}
		clients.Wait()
	}
	x.whole()
	for round := range rounds {
		for i := range calls / rounds / 2 {
			id := fmt.Sprintf("r%d.%d", round, i)
			x.Granted(t, id, "k"+id, from("bob"), micros(1))
			x.Settle(t, id, "k"+id, apptest.Failed(apptest.Money(1)))
			if x.Get(t, id).GetRevision() != 1 {
				t.Errorf("%s was changed more than once", id)
			}
		}
	}
	if spent := x.number("SELECT spent_micros FROM budgets"); spent != calls/2 {
		t.Errorf("spent %d", spent)
	}
	x.whole()
}

// The moments that a clock does not meet for certain.
func TestCase28ClientsLeaveAtNamedMoments(t *testing.T) {
	t.Parallel()
	x := newSite(t, func(c *app.Config) { c.PoolSize = 2 })
	for name, wait := range map[string]struct {
		query string
		event string
	}{
		"waiting for the account's lock":  {query: theAccount},
		"waiting for the provider's lock": {query: theProvider},
		"between two statements":          {event: "UPDATE ON providers"},
		"before the last statement":       {event: "INSERT ON entries"},
	} {
		id := fmt.Sprintf("r%d", len(name))
		x.Granted(t, "open"+id, "k"+id)
		for what, req := range map[string]proto.Message{
			"reserve": apptest.Reserve(id, ""),
			"settle":  apptest.Settlement("open"+id, "k"+id, apptest.Failed(apptest.Money(0))),
		} {
			query := wait.query
			if wait.event != "" {
				query = "SELECT pg_advisory_xact_lock(1)"
				x.fault(wait.event, always, "PERFORM pg_advisory_xact_lock(1)")
			}
			h := x.hold(query)
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan error, 1)
			go func() {
				_, err := try(ctx, x.Service, req)
				left <- err
			}()
			x.untilBlocked(1)
			leave()
			wantCode(t, name+", "+what, <-left, codes.Canceled)
			h.release()
			x.mend()
			x.whole()
			if _, err := try(t.Context(), x.Service, req); err != nil {
				t.Errorf("%s, %s, the same call again: %v", name, what, err)
			}
		}
	}
	x.wantCredits(apptest.Credits-4*10, 4*10)
	x.whole()
}
