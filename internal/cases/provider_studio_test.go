package cases_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// The times of a studio are hours, so that a slow machine decides nothing. Only pass makes them go by.
const (
	permitTime      = time.Hour
	notReceivedTime = 2 * time.Hour // after the permit's end
	checkTime       = 2 * time.Hour
	windowTime      = 10 * time.Hour
	lifeTime        = 100 * time.Hour

	generationCost = 100 // micros
	checkCost      = 3
)

// studio is a running service with a paid provider beside it. One clock turns for the database, the provider and the workers.
type studio struct {
	*apptest.Service
	t        *testing.T
	provider *fakeprovider.Server
	client   *fakeprovider.Client
	clock    *fakeprovider.ManualClock
	window   time.Duration
	passed   time.Duration

	mu      sync.Mutex
	answers map[string][]fakeprovider.Answer // by request key: how its POSTs are answered

	statement map[string]int64 // by request key: the micros that the provider has charged, when it was last read
}

// newStudio starts both. The provider takes idempotency keys for the window; 0 is never.
func newStudio(t *testing.T, window time.Duration, change ...func(*settlementv1.PutProviderRequest)) *studio {
	t.Helper()
	s := &studio{
		Service: apptest.New(t), t: t, window: window,
		clock: fakeprovider.NewManualClock(time.Now()), answers: map[string][]fakeprovider.Answer{},
	}
	o := fakeprovider.Defaults()
	o.Clock, o.Currency, o.IdempotencyWindow = s.clock, apptest.Currency, window
	o.GenerationCost, o.CheckCost = generationCost, checkCost
	var err error
	if s.provider, err = fakeprovider.Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.provider.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.client, err = fakeprovider.NewClient(s.provider.URL(), time.Minute); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	s.Seed(t, append([]func(*settlementv1.PutProviderRequest){func(p *settlementv1.PutProviderRequest) {
		p.PermitSeconds = new(seconds(permitTime))
		p.NotReceivedAfterSeconds, p.IdempotencyKeySeconds = seconds(notReceivedTime), seconds(window)
		p.BudgetLimitMicros = 1_000_000_000
	}}, change...)...)
	return s
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// now is the time of a worker's own clock.
func (s *studio) now() time.Time { return time.Now().Add(s.passed) }

// pass lets time go by for everybody, while nobody is at work.
func (s *studio) pass(d time.Duration) {
	s.passed += d
	s.TurnClock(s.passed)
	s.clock.Advance(d)
}

// restart ends the server and starts another one on the same database.
func (s *studio) restart() {
	s.t.Helper()
	s.Stop()
	s.Service = apptest.On(s.t, s.DB)
}

// replica is the same studio, seen through one more server on the same database.
func (s *studio) replica(t *testing.T) *studio {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return &studio{
		Service: apptest.On(t, s.DB), t: t, provider: s.provider, client: s.client, clock: s.clock, window: s.window,
		passed: s.passed, answers: maps.Clone(s.answers),
	}
}

// script has the provider answer a key so.
func (s *studio) script(key string, script fakeprovider.GenerationScript) {
	s.t.Helper()
	if err := s.provider.ScriptGeneration(key, script); err != nil {
		s.t.Fatal(err)
	}
	s.keepAnswers(key, script.Answers)
}

// scriptCheck has the checker answer a key so.
func (s *studio) scriptCheck(key string, script fakeprovider.CheckScript) {
	s.t.Helper()
	if err := s.provider.ScriptCheck(key, script); err != nil {
		s.t.Fatal(err)
	}
	s.keepAnswers(key, script.Answers)
}

func (s *studio) keepAnswers(key string, answers []fakeprovider.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[key] = answers
}

// submit sends one paid POST of a generation.
func (s *studio) submit(ctx context.Context, key string, g fakeprovider.Generation) fakeprovider.Submission {
	ctx, end := s.impatient(ctx, key, func() int64 { return s.provider.Counts(key).Generations.Received })
	defer end()
	return s.client.Submit(ctx, key, g)
}

// check sends one paid POST of a content check.
func (s *studio) check(ctx context.Context, key, stage string) fakeprovider.Verdict {
	ctx, end := s.impatient(ctx, key, func() int64 { return s.provider.Counts(key).Checks.Received })
	defer end()
	return s.client.Check(ctx, key, fakeprovider.Check{Stage: stage})
}

// impatient is the timeout of a POST that is never answered: it fires once the provider has the POST, and no sooner. A POST that will
// be answered has none.
func (s *studio) impatient(ctx context.Context, key string, received func() int64) (context.Context, func()) {
	before := received()
	s.mu.Lock()
	answers := s.answers[key]
	s.mu.Unlock()
	if len(answers) == 0 || !slices.Contains(unanswered, answers[min(int(before), len(answers)-1)]) {
		return ctx, func() {}
	}
	ctx, timeout := context.WithCancelCause(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if s.provider.Await(ctx, key, func(fakeprovider.Counts) bool { return received() > before }) == nil {
			timeout(context.DeadlineExceeded)
		}
	})
	return ctx, func() { timeout(nil); waiting.Wait() }
}

var unanswered = []fakeprovider.Answer{
	fakeprovider.HangBefore, fakeprovider.HangAfter, fakeprovider.HoldBefore, fakeprovider.HoldAfter,
}

// read reads the provider's statement.
func (s *studio) read() {
	s.statement = map[string]int64{}
	for _, c := range s.provider.Usage() {
		s.statement[c.RequestKey] += c.CostMicros
	}
}
