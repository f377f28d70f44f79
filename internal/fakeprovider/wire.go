package fakeprovider

import (
	"errors"
	"net/url"
)

// Generation is the body of POST /v1/generations. Its key travels in the header Idempotency-Key.
type Generation struct {
	Input       string `json:"input,omitempty"`        // what to generate; never looked at
	CallbackURL string `json:"callback_url,omitempty"` // http, on this machine
}

// Check is the body of POST /v1/checks. Its key travels in the header Idempotency-Key.
type Check struct {
	Stage   string `json:"stage"`             // INPUT or OUTPUT
	Content string `json:"content,omitempty"` // what to check; never looked at
}

// idempotencyKey is the header that carries the request key of a paid POST.
const idempotencyKey = "Idempotency-Key"

// bodyMax bounds the bodies that the server reads, and those that the client does.
const bodyMax = 64 << 10

const (
	verdictPass   = "pass"
	verdictReject = "reject"
)

// taskMessage is a task as answers and callbacks show it. Without a cost the cost is unknown; zero is a cost.
type taskMessage struct {
	TaskID     string     `json:"task_id"`
	RequestKey string     `json:"request_key"`
	Status     TaskStatus `json:"status"`
	Code       string     `json:"code,omitempty"`
	CostMicros *int64     `json:"cost_micros,omitempty"`
	Currency   string     `json:"currency,omitempty"`
}

type verdictMessage struct {
	RequestKey string   `json:"request_key"`
	Verdict    string   `json:"verdict"`
	Categories []string `json:"categories,omitempty"`
	CostMicros *int64   `json:"cost_micros,omitempty"`
	Currency   string   `json:"currency,omitempty"`
}

type callbackMessage struct {
	CallbackID string `json:"callback_id"` // the same in every copy
	taskMessage
}

type errorMessage struct {
	Error problem `json:"error"`
}

type problem struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	CostMicros *int64 `json:"cost_micros,omitempty"`
	Currency   string `json:"currency,omitempty"`
}

func (g Generation) validate() error {
	if g.CallbackURL == "" {
		return nil
	}
	u, err := url.Parse(g.CallbackURL)
	if err != nil || u.Scheme != "http" || !isLoopback(u.Hostname()) {
		return errors.New("callback_url: want an http URL with a loopback host")
	}
	return nil
}

func (c Check) validate() error {
	if c.Stage != "INPUT" && c.Stage != "OUTPUT" {
		return errors.New("stage: want INPUT or OUTPUT")
	}
	return nil
}
