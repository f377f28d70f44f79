package fakeprovider

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
)

// task is an accepted generation.
type task struct {
	id, key      string
	record       *record
	status       TaskStatus
	end          TaskStatus
	failureCode  string
	notFoundLeft int
	pendingLeft  int
	told         *int64
	callbackURL  string
	callbacks    int
	stopTimer    func()
}

// newTask names a task after its key and its number under that key, so that the names are the same in every run.
func newTask(r *record, script GenerationScript, g Generation) *task {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", r.key, len(r.work)))
	t := &task{
		id: "task-" + hex.EncodeToString(sum[:12]), key: r.key, record: r,
		status: TaskPending, end: script.End, failureCode: script.FailureCode,
		notFoundLeft: script.NotFoundPolls, pendingLeft: script.PendingPolls,
		callbackURL: g.CallbackURL, callbacks: 1, stopTimer: func() {},
	}
	if t.end == "" {
		t.end = TaskSucceeded
	}
	if t.failureCode == "" {
		t.failureCode = "generation_failed"
	}
	if script.Callbacks != nil {
		t.callbacks = *script.Callbacks
	}
	return t
}

// status answers a poll of a task.
func (b *book) status(id string) plan {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.poll(b.tasks[id])
}

// lookup answers with the newest task of a key.
func (b *book) lookup(key string) plan {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.generations.records[key]
	if r == nil || len(r.work) == 0 {
		if r != nil {
			b.count(r, func(c *Counters) { c.Polls++ })
		}
		return b.poll(nil)
	}
	return b.poll(r.work[len(r.work)-1].task)
}

// poll tells where a task stands, by its script: not found at first, then pending for a while.
func (b *book) poll(t *task) plan {
	missing := faulty(http.StatusNotFound, "not_found", "no such task")
	if t == nil {
		return missing
	}
	b.count(t.record, func(c *Counters) { c.Polls++ })
	if t.notFoundLeft > 0 {
		t.notFoundLeft--
		return missing
	}
	p := plan{status: http.StatusOK, body: t.message(t.status, b.o.Currency)}
	if t.status == TaskPending && t.pendingLeft > 0 {
		if t.pendingLeft--; t.pendingLeft == 0 {
			t.status, p.ended = t.end, t
		}
	}
	return p
}

func (b *book) endLater(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tasks[t.id] == t && t.status == TaskPending {
		t.status = t.end
		b.dispatch(t)
	}
}

// finish ends the newest task of a key, whatever its script says.
func (b *book) finish(key string, status TaskStatus) error {
	if status != TaskSucceeded && status != TaskFailed {
		return fmt.Errorf("%w: status %q: want succeeded or failed", ErrInvalid, status)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.newest(key)
	if err != nil {
		return err
	}
	if t.status != TaskPending {
		return fmt.Errorf("%w: task %s of key %q has %s already", ErrConflict, t.id, key, t.status)
	}
	t.stopTimer()
	t.status, t.pendingLeft = status, 0
	b.dispatch(t)
	return nil
}

func (b *book) newest(key string) (*task, error) {
	r := b.generations.records[key]
	if r == nil || len(r.work) == 0 {
		return nil, fmt.Errorf("%w: no task was accepted under key %q", ErrUnknown, key)
	}
	return r.work[len(r.work)-1].task, nil
}

func (t *task) message(status TaskStatus, currency string) taskMessage {
	m := taskMessage{TaskID: t.id, RequestKey: t.key, Status: status}
	if status == TaskPending {
		return m
	}
	if status == TaskFailed {
		m.Code = t.failureCode
	}
	if t.told != nil {
		m.CostMicros, m.Currency = t.told, currency
	}
	return m
}
