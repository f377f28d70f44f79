package cases_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// manner is how a worker is interrupted at one of its effects.
type manner string

// Between two effects a worker changes nothing outside of itself, so a stop before each effect, and one after the last, are all there are.
const (
	undisturbed manner = "undisturbed"
	killed      manner = "killed"  // before the effect; what it knew is gone
	napping     manner = "napping" // before the effect, until another worker has tried
	frozen      manner = "frozen"  // before the effect, until everything is over
	deaf        manner = "deaf"    // the effect takes place, and its answer is lost
)

var manners = []manner{killed, napping, frozen, deaf}

var errKilled = errors.New("killed")

// play is one job, what the provider does about it, and at which of its effects which interruption comes. Effects are counted through all
// workers of the job, up to the first acknowledgement.
type play struct {
	job job
	by  behaviour
	how manner
	at  int

	effects []string // so far
	acked   bool
	stopped bool
	asleep  *sleeper
	now     *settlementv1.Reservation // at the last look
	ended   int                       // workers who found the job ended
}

// sleeper is a worker that was put to sleep before an effect.
type sleeper struct {
	how  manner
	wake chan struct{}
	rest <-chan error
}

func (p *play) String() string { return p.job.id }

// hook interrupts one worker of the play, once. It tells through reached that the worker sleeps.
func (p *play) hook(ctx context.Context, reached chan<- *sleeper) hook {
	before := func(_ int, effect string) error {
		if p.acked {
			return nil
		}
		n := len(p.effects)
		p.effects = append(p.effects, effect)
		p.acked = effect == "acknowledge"
		if p.stopped || n != p.at || p.how == undisturbed || p.how == deaf {
			return nil
		}
		p.stopped, p.acked = true, false
		if p.how == killed {
			return errKilled
		}
		z := &sleeper{how: p.how, wake: make(chan struct{})}
		reached <- z
		select {
		case <-z.wake:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	lose := func(int) bool {
		if p.how != deaf || p.stopped || len(p.effects)-1 != p.at {
			return false
		}
		p.stopped = true
		return true
	}
	return hook{before: before, lose: lose}
}

// work has a new worker carry the job until it rests or falls asleep.
func (p *play) work(t *testing.T, s *studio, name string) {
	ctx, reached, rest := t.Context(), make(chan *sleeper), make(chan error, 1)
	w := s.worker(name, p.job)
	w.hook = p.hook(ctx, reached)
	go func() { rest <- w.carry(ctx) }()
	select {
	case z := <-reached:
		z.rest = rest
		p.asleep = z
	case err := <-rest:
		p.rested(t, err)
	}
}

// wake lets a sleeping worker go on with what it knew, and waits until it rests.
func (p *play) wake(t *testing.T, how manner) {
	if p.asleep == nil || p.asleep.how != how {
		return
	}
	z := p.asleep
	p.asleep = nil
	close(z.wake)
	p.rested(t, <-z.rest)
}

// over tells whether the job has ended, another worker has been at it since, and nobody sleeps who could wake before the end.
func (p *play) over() bool {
	return p.ended > 1 && (p.asleep == nil || p.asleep.how == frozen)
}

func (p *play) rested(t *testing.T, err error) {
	if err == nil {
		p.ended++
	}
	if err != nil && !errors.Is(err, errKilled) && !errors.Is(err, errParked) {
		t.Errorf("%s: %v", p, err)
	}
}

// prepare scripts the provider for the play.
func (p *play) prepare(s *studio) {
	none := 0
	first, later := p.by.first, p.by.later
	first.Callbacks, later.Callbacks = &none, &none
	s.script(p.job.generation(1), first)
	for n := 2; n <= attemptsMax; n++ {
		s.script(p.job.generation(n), later)
	}
	s.scriptCheck(p.job.checkOf(apptest.Input), p.by.input)
	s.scriptCheck(p.job.checkOf(apptest.Output), p.by.output)
}

// plays makes one of each behaviour, undisturbed.
func plays(setting string, behaviours []behaviour, shape func(*job)) []*play {
	var all []*play
	for _, b := range behaviours {
		p := &play{by: b, how: undisturbed, job: job{id: fmt.Sprintf("%s.%s", setting, b.name), life: lifeTime}}
		shape(&p.job)
		all = append(all, p)
	}
	return all
}

// interrupted makes one play for each effect that a play had and each manner.
func interrupted(from []*play) []*play {
	var all []*play
	for _, p := range from {
		if p.by.calm {
			continue
		}
		for at, effect := range p.effects {
			for _, how := range manners {
				q := &play{by: p.by, how: how, at: at, job: p.job}
				q.job.id = fmt.Sprintf("%s.%s.%02d-%s", p.job.id, how, at, strings.ReplaceAll(effect, " ", "-"))
				q.job.free = len(all)%2 == 1
				all = append(all, q)
			}
		}
	}
	return all
}

// behaviour is what the provider and the checker do about a job, and how a job that nobody interrupts ends by it.
type behaviour struct {
	name          string
	first, later  fakeprovider.GenerationScript // for the first key, and for those after it
	input, output fakeprovider.CheckScript
	end           settlementv1.OutcomeKind
	runs          bool // the provider does paid work for it
	calm          bool // nobody interrupts it: another behaviour takes a worker through the same steps
}
