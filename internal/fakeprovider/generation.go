package fakeprovider

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// submit plays one POST of a generation.
func (b *book) submit(key string, g Generation, content [sha256.Size]byte) plan {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record(b.generations, key)
	if r == nil {
		return full()
	}
	script := b.generations.generation
	if r.generation != nil {
		script = *r.generation
	}
	answer := answerAt(script.Answers, r.steps)
	r.steps++
	b.count(r, func(c *Counters) { c.Received++ })
	if answer == Refuse {
		return b.refuse(r, script)
	}
	return b.play(r, answer, time.Duration(script.HoldMillis)*time.Millisecond, func() plan {
		return b.accept(r, script, g, content)
	})
}

// accept makes a task and bills it, unless the key names one already.
func (b *book) accept(r *record, script GenerationScript, g Generation, content [sha256.Size]byte) plan {
	if standing, ok := b.standing(r); ok {
		return b.again(r, standing, content, taskMessage{TaskID: standing.task.id, RequestKey: r.key, Status: TaskPending}, http.StatusAccepted)
	}
	t := newTask(r, script, g)
	cost := orElse(script.CostMicros, b.o.GenerationCost)
	if !b.charge(r, t.id, cost, 1) {
		return full()
	}
	if !script.HideCost {
		told := orElse(script.ToldCostMicros, cost)
		t.told = &told
	}
	b.tasks[t.id] = t
	r.work = append(r.work, accepted{at: b.o.Clock.Now(), content: content, task: t})
	b.count(r, func(c *Counters) { c.Paid++ })
	p := plan{status: http.StatusAccepted, body: taskMessage{TaskID: t.id, RequestKey: t.key, Status: TaskPending}}
	switch {
	case script.EndAfterMillis > 0:
		t.stopTimer = b.o.Clock.AfterFunc(time.Duration(script.EndAfterMillis)*time.Millisecond, func() { b.endLater(t) })
	case t.pendingLeft == 0 && t.end != TaskPending:
		t.status, p.ended = t.end, t
	}
	return p
}

// again answers a key that names accepted work already. It bills nothing.
func (b *book) again(r *record, standing accepted, content [sha256.Size]byte, message any, status int) plan {
	if standing.content != content {
		return faulty(http.StatusConflict, "idempotency_key_reused", "the key names other work already")
	}
	b.count(r, func(c *Counters) { c.Replayed++ })
	return plan{status: status, body: message, replayed: true}
}

// refuse says no. What a refusal costs is billed once a key.
func (b *book) refuse(r *record, script GenerationScript) plan {
	refusal := script.Refusal
	if refusal.CostMicros > 0 && !r.refusal {
		if !b.charge(r, "", refusal.CostMicros, 0) {
			return full()
		}
		r.refusal = true
	}
	b.count(r, func(c *Counters) { c.Refused++ })
	p := plan{status: http.StatusUnprocessableEntity}
	if refusal.Status != 0 {
		p.status = refusal.Status
	}
	why := problem{Code: "content_policy", Message: "refused, as the script says"}
	if refusal.Code != "" {
		why.Code = refusal.Code
	}
	if !script.HideCost {
		told := orElse(script.ToldCostMicros, refusal.CostMicros)
		why.CostMicros, why.Currency = &told, b.o.Currency
	}
	p.body = errorMessage{Error: why}
	return p
}

func full() plan {
	return faulty(http.StatusServiceUnavailable, "full", "the provider keeps no more records until it is reset")
}

// scriptGeneration sets the script of a key, or of all keys without one, and starts again with its first answer.
func (b *book) scriptGeneration(key string, s GenerationScript) error {
	if err := s.validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	s.Answers = slices.Clone(s.Answers)
	b.mu.Lock()
	defer b.mu.Unlock()
	if key == "" {
		b.generations.generation = s
		return nil
	}
	r, err := b.scripted(b.generations, key)
	if err == nil {
		r.generation, r.steps = &s, 0
	}
	return err
}

func (b *book) scripted(d *desk, key string) (*record, error) {
	if !validName(key) {
		return nil, fmt.Errorf("%w: key: want 1 to 128 printable ASCII characters without space", ErrInvalid)
	}
	r := b.record(d, key)
	if r == nil {
		return nil, fmt.Errorf("%w: the provider keeps no more records until it is reset", ErrConflict)
	}
	return r, nil
}
