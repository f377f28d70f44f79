package cases_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// setting is a way in which jobs and providers can be set up.
type setting struct {
	name       string
	window     time.Duration
	behaviours []behaviour
	shape      func(*job)
	checked    bool // input and output
	callbacks  bool
}

// TestNoInterruptionPaysTwice stops a worker at every one of its effects, in every manner, under everything that the provider can do, and
// lets others take over. Whatever happened: the provider has done paid work once for a job at most, the journal has lost nothing, and the
// ledger's costs are the provider's statement.
func TestNoInterruptionPaysTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []setting{
		{name: "keys_unknown", behaviours: generating()},
		{name: "keys_known", window: windowTime, behaviours: generating()},
		{name: "two_calls", behaviours: few(), shape: func(j *job) { j.twoCalls = true }},
		{name: "called_back", behaviours: few(), callbacks: true},
		{name: "short_lived", behaviours: few(), shape: shortLived},
		{name: "short_lived_keys_known", window: windowTime, behaviours: few(), shape: shortLived},
		{name: "checked", window: windowTime, behaviours: checking(), checked: true, shape: func(j *job) { j.inputCheck = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.play(t)
		})
	}
}

// play first has every behaviour without interruptions, which tells the effects of its workers, and then with each of them.
func (c setting) play(t *testing.T) {
	s := newStudio(t, c.window, func(p *settlementv1.PutProviderRequest) { p.OutputCheckRequired = c.checked })
	defer s.Verify(t)
	s.openWide(t)
	url := ""
	if c.callbacks {
		url = listen(t, func(r *http.Request, o fakeprovider.Observation) error {
			_, err := s.settleBy(r.Context(), o, callback)
			return err
		})
	}
	calm := plays(c.name, c.behaviours, func(j *job) {
		j.callback = url
		if c.shape != nil {
			c.shape(j)
		}
	})
	s.rounds(t, calm)
	stopped := interrupted(calm)
	s.rounds(t, stopped)
	for _, p := range stopped {
		if !p.stopped {
			t.Errorf("%s was never interrupted: %v", p, p.effects)
		}
	}
	s.audit(t, append(calm, stopped...))
}

// shortLived jobs are overdue before their permits are.
func shortLived(j *job) { j.life = permitTime / 2 }

// roundsMax is in how many workers, each with time and evidence before the next, every job must have ended.
const roundsMax = 5

// rounds has one worker after the other carry all the plays. Between them sleepers wake, late requests and callbacks arrive, time
// passes, the server starts anew and evidence is asked for.
func (s *studio) rounds(t *testing.T, all []*play) {
	t.Helper()
	together(all, func(p *play) { p.prepare(s) })
	whole := all
	for n := range roundsMax {
		if all = slices.DeleteFunc(slices.Clone(all), (*play).over); len(all) == 0 {
			break
		}
		name := "worker-" + string(rune('1'+n))
		together(all, func(p *play) { p.work(t, s, name) })
		s.look(t, all)
		switch n {
		case 0: // the next worker takes over at once
			together(all, func(p *play) { s.callBack(t, p) })
			continue
		case 1:
			together(all, func(p *play) { p.wake(t, napping); s.provider.Release(p.job.generation(1)) })
			s.pass(permitTime / 2)
		default:
			together(all, func(p *play) { p.wake(t, napping) })
			s.pass(permitTime + notReceivedTime)
		}
		s.restart()
		s.look(t, all)
		together(all, func(p *play) { s.prove(t, p, n > 1) })
	}
	together(whole, func(p *play) { p.wake(t, frozen) })
	s.look(t, whole)
	s.read()
	together(whole, func(p *play) { s.bill(t, p.now) })
	s.look(t, whole)
}

// prove brings evidence for a play. Before its time, that the provider knows nothing of a request proves nothing.
func (s *studio) prove(t *testing.T, p *play, late bool) {
	a := s.investigate(t, p.now)
	if a == nil {
		return
	}
	waits := a.GetRefusedReason() == tooEarly
	found := liveGeneration(a.GetReservation()) != nil || a.GetReservation().GetOutcome().GetKind() == endProviderFailed
	if late && waits || !late && !waits && !found || !waits && a.GetDisposition() == refused {
		t.Errorf("%s: late %v, evidence is answered %v", p, late, a)
	}
}

// callBack has the provider tell the end of a play, before its worker can.
func (s *studio) callBack(t *testing.T, p *play) {
	if p.job.callback == "" {
		return
	}
	status, err := s.provider.SendCallback(t.Context(), p.job.generation(1), "")
	if err == nil && status != http.StatusOK || err != nil && !errors.Is(err, fakeprovider.ErrUnknown) {
		t.Errorf("%s: callback: %d %v", p, status, err)
	}
}

// listen takes the provider's callbacks.
func listen(t *testing.T, take func(*http.Request, fakeprovider.Observation) error) string {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o, err := fakeprovider.ReadCallback(r)
		if err == nil {
			err = take(r, o)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(receiver.Close)
	return receiver.URL
}

// settleBy settles a job by what somebody has seen of its task. A pending one settles nothing.
func (s *studio) settleBy(ctx context.Context, o fakeprovider.Observation, by settlementv1.Observer) (*settlementv1.SettleResponse, error) {
	id, _, _ := strings.Cut(o.Key, ".generation-")
	var outcome any = unchecked(costOf(o.Cost))
	switch o.Fact {
	case fakeprovider.Succeeded:
	case fakeprovider.Failed:
		outcome = &settlementv1.ProviderFailedOutcome{Code: o.Code, Cost: costOf(o.Cost)}
	default:
		return nil, nil
	}
	req := apptest.Settlement(id, o.Key, outcome, apptest.SeenBy(by))
	req.ProviderTaskId = &o.TaskID
	return s.Settlements.Settle(ctx, req)
}

// openWide lets every job in.
func (s *studio) openWide(t *testing.T) {
	t.Helper()
	ctx, a := t.Context(), s.Accounts
	_, err := a.PutAccount(ctx, &settlementv1.PutAccountRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: plenty})
	if err == nil {
		_, err = a.GrantCredits(ctx, &settlementv1.GrantCreditsRequest{
			TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: "plenty", Credits: plenty,
		})
	}
	if err == nil {
		_, err = a.GrantFreeAttempts(ctx, &settlementv1.GrantFreeAttemptsRequest{
			TenantId: apptest.Tenant, AccountId: apptest.Account, GrantId: "plenty", Attempts: plenty,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

const plenty = 1_000_000

// together does one thing for all the plays, many at a time.
func together(all []*play, do func(*play)) {
	const atATime = 64
	var wg sync.WaitGroup
	turns := make(chan struct{}, atATime)
	for _, p := range all {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			do(p)
		})
	}
	wg.Wait()
}
