package fakeprovider

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// check plays one POST of a check.
func (b *book) check(key string, content [sha256.Size]byte) plan {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record(b.checks, key)
	if r == nil {
		return full()
	}
	script := b.checks.check
	if r.check != nil {
		script = *r.check
	}
	answer := answerAt(script.Answers, r.steps)
	r.steps++
	b.count(r, func(c *Counters) { c.Received++ })
	return b.play(r, answer, time.Duration(script.HoldMillis)*time.Millisecond, func() plan {
		return b.judge(r, script, content)
	})
}

// judge gives the verdict and bills it, unless the key was checked already: then it says the verdict of the script again.
func (b *book) judge(r *record, script CheckScript, content [sha256.Size]byte) plan {
	cost := orElse(script.CostMicros, b.o.CheckCost)
	message := verdictMessage{RequestKey: r.key, Verdict: verdictPass, Categories: script.Categories}
	if len(script.Categories) > 0 {
		message.Verdict = verdictReject
	}
	if !script.HideCost {
		told := orElse(script.ToldCostMicros, cost)
		message.CostMicros, message.Currency = &told, b.o.Currency
	}
	if standing, ok := b.standing(r); ok {
		return b.again(r, standing, content, message, http.StatusOK)
	}
	if !b.charge(r, "", cost, 0) {
		return full()
	}
	r.work = []accepted{{at: b.o.Clock.Now(), content: content}}
	b.count(r, func(c *Counters) { c.Paid++ })
	return plan{status: http.StatusOK, body: message}
}

// scriptCheck sets the script of a key, or of all keys without one, and starts again with its first answer.
func (b *book) scriptCheck(key string, s CheckScript) error {
	if err := s.validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	s.Answers, s.Categories = slices.Clone(s.Answers), slices.Clone(s.Categories)
	b.mu.Lock()
	defer b.mu.Unlock()
	if key == "" {
		b.checks.check = s
		return nil
	}
	r, err := b.scripted(b.checks, key)
	if err == nil {
		r.check, r.steps = &s, 0
	}
	return err
}
