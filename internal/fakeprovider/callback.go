package fakeprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// couriersMax bounds the callbacks under way at the same time.
const couriersMax = 16

// courier delivers callbacks. It never tries again by itself: a script or a control asks for every copy.
type courier struct {
	client *http.Client
	slots  chan struct{}
}

func newCourier(timeout time.Duration) *courier {
	return &courier{
		client: &http.Client{
			Timeout:       timeout,
			Transport:     &http.Transport{DisableKeepAlives: true}, // and no proxy
			CheckRedirect: stay,
		},
		slots: make(chan struct{}, couriersMax),
	}
}

// stay follows no redirect: a POST that is sent again somewhere else is a second POST.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (c *courier) deliver(ctx context.Context, url string, message callbackMessage) (int, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	body, err := json.Marshal(message)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, bodyMax))
	return response.StatusCode, err
}

// dispatch starts the deliveries of a task that has ended, one after the other. The caller has the lock.
func (b *book) dispatch(t *task) {
	if t == nil || b.closed || b.tasks[t.id] != t || t.callbackURL == "" || t.callbacks == 0 {
		return
	}
	ctx, message := b.life, t.callback(t.status, b.o.Currency)
	b.couriers.Go(func() {
		for range t.callbacks {
			_, _ = b.deliver(ctx, t, message) // counted there
		}
	})
}

func (b *book) dispatchLater(t *task) {
	if t == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatch(t)
}

func (b *book) deliver(ctx context.Context, t *task, message callbackMessage) (int, error) {
	status, err := b.courier.deliver(ctx, t.callbackURL, message)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count(t.record, func(c *Counters) {
		if err == nil && status >= 200 && status < 300 {
			c.Callbacks++
		} else {
			c.CallbacksFailed++
		}
	})
	return status, err
}

// resend delivers one more callback of a key's newest task and waits for its answer. A status that is not the task's makes it lie.
func (b *book) resend(ctx context.Context, key string, status TaskStatus) (int, error) {
	switch status {
	case "", TaskPending, TaskSucceeded, TaskFailed:
	default:
		return 0, fmt.Errorf("%w: status %q: want pending, succeeded, failed or none", ErrInvalid, status)
	}
	b.mu.Lock()
	t, err := b.newest(key)
	if err == nil && t.callbackURL == "" {
		err = fmt.Errorf("%w: task %s of key %q has no callback_url", ErrConflict, t.id, key)
	}
	if err != nil {
		b.mu.Unlock()
		return 0, err
	}
	if status == "" {
		status = t.status
	}
	message := t.callback(status, b.o.Currency)
	life := b.life
	b.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	return b.deliver(ctx, t, message)
}

// callback names itself after what it says, so that a receiver can tell copies apart from contradictions.
func (t *task) callback(status TaskStatus, currency string) callbackMessage {
	return callbackMessage{CallbackID: t.id + "-" + string(status), taskMessage: t.message(status, currency)}
}
