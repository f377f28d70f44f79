package cases_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

// The seven tests of one failed job: the customer gets the credits back once, whoever brings the news, and nothing else happens.

const (
	finishCredits = 7 // that the job holds
	jobID, jobKey = "job-1", "generation-1"
)

// finishing is a service with a balance of seven credits, all of them held by one job whose generation runs.
func finishing(t *testing.T, change ...func(*app.Config)) *site {
	t.Helper()
	x := newSite(t, change...)
	x.DB.Exec("SET session_replication_role = replica; DELETE FROM entries; RESET session_replication_role")
	x.DB.Exec("UPDATE accounts SET credits_available = 0, free_attempts_available = 0")
	grantCredits(t, x.Service, finishCredits)
	x.Granted(t, jobID, jobKey, credits(finishCredits))
	x.Report(t, jobID, jobKey, apptest.Accepted("task-1"))
	x.wantCredits(0, finishCredits)
	return x
}

func failure() *settlementv1.SettleRequest {
	return apptest.Settlement(jobID, jobKey, apptest.Failed(nil), apptest.SeenBy(settlementv1.Observer_OBSERVER_CALLBACK))
}

func completion() *settlementv1.SettleRequest {
	return apptest.Settlement(jobID, jobKey, apptest.Completed(nil), apptest.SeenBy(settlementv1.Observer_OBSERVER_POLL))
}

// returnedOnce checks that the seven credits are back, by one entry.
func (x *site) returnedOnce() {
	x.t.Helper()
	x.wantCredits(finishCredits, 0)
	if n := x.number("SELECT count(*) FROM entries WHERE reservation_id = $1 AND available_after > available_before", jobID); n != 1 {
		x.t.Errorf("returned %d times", n)
	}
	if n := x.entries("end " + jobID); n != 1 {
		x.t.Errorf("ended %d times", n)
	}
	x.whole()
}

func TestFinishSixteenNotificationsReturnOnce(t *testing.T) {
	t.Parallel()
	x := finishing(t)
	y := x.replica()
	const n = 16
	answers := make(chan *settlementv1.SettleResponse, n)
	var notifications sync.WaitGroup
	for i := range n {
		client := apptest.Dial(t, []string{x.Address, y.Address}[i%2]) // a connection of its own
		notifications.Go(func() {
			resp, err := client.Settlements.Settle(t.Context(), failure())
			if err != nil {
				t.Error(err)
			}
			answers <- resp
		})
	}
	notifications.Wait()
	count := map[settlementv1.Disposition]int{}
	for range n {
		resp := <-answers
		count[resp.GetDisposition()]++
		if resp.GetReservation().GetState() != settlementv1.ReservationState_RESERVATION_STATE_FAILED {
			t.Errorf("answered %v", resp)
		}
	}
	if count[settlementv1.Disposition_DISPOSITION_APPLIED] != 1 || count[settlementv1.Disposition_DISPOSITION_REPLAYED] != n-1 {
		t.Errorf("%v", count)
	}
	x.returnedOnce()
}

func TestFinishRaceOfCompletionAndFailure(t *testing.T) {
	t.Parallel()
	x := finishing(t)
	y := x.replica()
	answers := make([]*settlementv1.SettleResponse, 2)
	var race sync.WaitGroup
	for i, req := range []*settlementv1.SettleRequest{completion(), failure()} {
		race.Go(func() {
			var err error
			if answers[i], err = []*site{x, y}[i].Settlements.Settle(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
	}
	race.Wait()
	completed := answers[0].GetDisposition() == settlementv1.Disposition_DISPOSITION_APPLIED
	loser := answers[1]
	if !completed {
		loser = answers[0]
		wantDisposition(t, answers[1], nil, settlementv1.Disposition_DISPOSITION_APPLIED)
	}
	wantDisposition(t, loser, nil, settlementv1.Disposition_DISPOSITION_SUPERSEDED)
	if len(loser.GetExceptions()) != 1 || !proto.Equal(loser.GetReservation(), x.Get(t, jobID)) {
		t.Errorf("the loser is not told what stands: %v", loser)
	}
	if !completed {
		x.returnedOnce()
		return
	}
	x.wantCredits(0, 0)
	if captured := x.Get(t, jobID).GetCredit().GetCaptured(); captured != finishCredits {
		t.Errorf("captured %d", captured)
	}
	x.whole()
}

func TestFinishAlreadyCompleted(t *testing.T) {
	t.Parallel()
	x := finishing(t)
	wantDisposition(t, x.Settle(t, jobID, jobKey, apptest.Completed(nil)), nil, settlementv1.Disposition_DISPOSITION_APPLIED)
	stands := x.Get(t, jobID)
	resp, err := x.Settlements.Settle(t.Context(), failure())
	wantDisposition(t, resp, err, settlementv1.Disposition_DISPOSITION_SUPERSEDED)
	if got := x.Get(t, jobID); !proto.Equal(got, stands) {
		t.Errorf("it was changed: %v", got)
	}
	x.wantCredits(0, 0)
	x.whole()
}

func TestFinishABrokenBalanceRollsEverythingBack(t *testing.T) {
	t.Parallel()
	x := finishing(t)
	before := x.Get(t, jobID)
	x.fault("UPDATE ON accounts", always, raise("P0001"))
	_, err := x.Settlements.Settle(t.Context(), failure())
	wantCode(t, "with a broken balance", err, codes.Internal)
	if strings.Contains(err.Error(), "a fault of the test") {
		t.Errorf("the caller sees what is none of theirs: %v", err)
	}
	if got := x.Get(t, jobID); !proto.Equal(got, before) {
		t.Errorf("a part of it stands: %v", got)
	}
	x.wantCredits(0, finishCredits)
	x.mend()
	resp, err := x.Settlements.Settle(t.Context(), failure())
	wantDisposition(t, resp, err, settlementv1.Disposition_DISPOSITION_APPLIED)
	x.returnedOnce()
}

func TestFinishAnUnknownJob(t *testing.T) {
	t.Parallel()
	x := finishing(t)
	before := x.holds()
	req := failure()
	req.ReservationId = "job-2"
	_, err := x.Settlements.Settle(t.Context(), req)
	wantCode(t, "an unknown job", err, codes.NotFound)
	if after := x.holds(); after != before || x.number("SELECT count(*) FROM exceptions") != 0 {
		t.Errorf("%s became %s", before, after)
	}
	x.whole()
}

func TestFinishAMissingBalanceIsLoud(t *testing.T) {
	t.Parallel()
	log := &logged{}
	x := finishing(t, log.into)
	const unguarded, guarded = "SET session_replication_role = replica; ", "; RESET session_replication_role"
	x.DB.Exec("CREATE TABLE aside AS TABLE accounts; " + unguarded + "DELETE FROM accounts" + guarded)
	before := x.holds()
	_, err := x.Settlements.Settle(t.Context(), failure())
	wantCode(t, "without a balance", err, codes.Internal)
	if after := x.holds(); after != before {
		t.Errorf("%s became %s", before, after)
	}
	log.names(t, jobID)
	x.DB.Exec(unguarded + "INSERT INTO accounts SELECT * FROM aside" + guarded)
	resp, err := x.Settlements.Settle(t.Context(), failure())
	wantDisposition(t, resp, err, settlementv1.Disposition_DISPOSITION_APPLIED)
	x.returnedOnce()
}

func TestFinishAConflictingEntryIsLoud(t *testing.T) {
	t.Parallel()
	log := &logged{}
	x := finishing(t, log.into)
	x.DB.Exec(`INSERT INTO entries (tenant_id, event_key, event_type, account_id, reservation_id, revision, budget_held_change, budget_spent_change, created_at)
		VALUES ($1, $2, 'PROVIDER_FAILED', $3, $4, 2, 0, 0, settlement_now())`, apptest.Tenant, "end "+jobID, apptest.Account, jobID)
	before, open := x.holds(), x.Get(t, jobID)
	for range 2 {
		_, err := x.Settlements.Settle(t.Context(), failure())
		wantCode(t, "with an end in the ledger", err, codes.Internal)
	}
	if after := x.holds(); after != before || !proto.Equal(x.Get(t, jobID), open) {
		t.Errorf("%s became %s", before, after)
	}
	log.names(t, jobID)
	findings, err := ledgerdb.Verify(t.Context(), x.DB.Read(), apptest.Tenant)
	if err != nil || !strings.Contains(fmt.Sprint(findings), jobID) {
		t.Errorf("an operator who verifies does not see it: %v %v", findings, err)
	}
}

// logged keeps what a server logs.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) into(c *app.Config) { c.Log = slog.New(slog.NewTextHandler(l, nil)) }

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// count tells how often the log says something.
func (l *logged) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// names fails the test when the log has no error about something.
func (l *logged) names(t *testing.T, what string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, "level=ERROR") && strings.Contains(line, what) {
			return
		}
	}
	t.Errorf("no error names %s:\n%s", what, l.text.String())
}
