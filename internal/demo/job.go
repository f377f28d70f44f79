package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// scenario is one way in which a generation job can go.
type scenario struct {
	name          string // its account, provider and reservation are called so
	title         string
	permitSeconds int64
	provider      func(*settlementv1.PutProviderRequest) // changes the provider's settings
	steps         []step
	want          want
}

// step is what somebody does next in a scenario: an error tells that it did not go as it must.
type step func(ctx context.Context, j *job) error

// job is a scenario that is being played: the worker's memory, and that of whoever takes over from it.
type job struct {
	worker
	stage    *stage
	scenario scenario

	permits  map[string]permit                   // by request key
	began    map[string]time.Time                // when a permit was first asked for, at the earliest
	causes   map[string]fakeprovider.Cause       // why an attempt is uncertain
	seen     map[string]fakeprovider.Observation // what the provider last said of a generation
	verdicts map[string]fakeprovider.Verdict     // what the checker said
	keys     []string                            // of the generations, in their order
	process  *process                            // the worker in another process
	inbox    *inbox
}

func (s *stage) newJob(sc scenario) *job {
	return &job{
		worker: worker{clients: s.clients, provider: s.provider, reservation: sc.name},
		stage:  s, scenario: sc,
		permits: map[string]permit{}, began: map[string]time.Time{}, causes: map[string]fakeprovider.Cause{},
		seen: map[string]fakeprovider.Observation{}, verdicts: map[string]fakeprovider.Verdict{},
	}
}

// close ends what a failed scenario has left running.
func (j *job) close() {
	if j.process != nil {
		j.process.end()
	}
	if j.inbox != nil {
		j.inbox.close()
	}
}

// run plays the steps up to the first that goes wrong.
func (j *job) run(ctx context.Context) error {
	if err := j.stage.setUp(ctx, &j.scenario); err != nil {
		return err
	}
	for i, s := range j.scenario.steps {
		if err := s(ctx, j); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// key is the request key of an attempt or a check, which must be unique in the tenant.
func (j *job) key(label string) string { return j.scenario.name + "/" + label }

// generation remembers the key of a generation.
func (j *job) generation(label string) string {
	key := j.key(label)
	j.keys = append(j.keys, key)
	j.began[key] = time.Now()
	return key
}

// await asks until the answer is yes. The context, which has a deadline, ends it otherwise.
func await(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		yes, err := ask(ctx)
		if yes || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", what, ctx.Err())
		}
	}
}

// word is the name of an enum value without its prefix, as the tables have it.
func word(value fmt.Stringer, prefix string) string {
	return strings.TrimPrefix(value.String(), prefix)
}
