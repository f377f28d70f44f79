package fakeprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Client is a worker's side of the provider. Each paid call sends its POST at most once: it never tries again by itself, because
// only the ledger can permit a second POST.
type Client struct {
	base    string
	timeout time.Duration
	http    *http.Client
}

// NewClient returns a client of the server at baseURL whose calls take at most timeout each. Close it after use.
func NewClient(baseURL string, timeout time.Duration) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("provider URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("provider URL %q: want http or https and a host", baseURL)
	}
	if timeout <= 0 {
		return nil, fmt.Errorf("timeout %v: want more than 0", timeout)
	}
	return &Client{
		base:    strings.TrimSuffix(baseURL, "/"),
		timeout: timeout,
		http:    &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, CheckRedirect: stay},
	}, nil
}

// Close closes the connections that no call uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Submit sends the paid POST of a generation under its request key.
func (c *Client) Submit(ctx context.Context, key string, g Generation) Submission {
	a := c.post(ctx, "/v1/generations", key, g)
	switch {
	case a.notSent:
		return Submission{Fact: NotSent, Cause: a.cause}
	case a.cause != "":
		return Submission{Fact: Uncertain, Cause: a.cause}
	case !a.ok():
		return a.refusal()
	}
	var m taskMessage
	if err := json.Unmarshal(a.body, &m); err != nil {
		return Submission{Fact: Uncertain, Cause: Unreadable}
	}
	switch {
	case !validName(m.TaskID):
		return Submission{Fact: Uncertain, Cause: NoTask}
	case m.RequestKey != key:
		return Submission{Fact: Uncertain, Cause: Unreadable}
	}
	return Submission{Fact: Accepted, TaskID: m.TaskID}
}

// Check sends the paid POST of a content check under its request key.
func (c *Client) Check(ctx context.Context, key string, check Check) Verdict {
	a := c.post(ctx, "/v1/checks", key, check)
	switch {
	case a.notSent:
		return Verdict{Fact: NotSent, Cause: a.cause}
	case a.cause != "":
		return Verdict{Fact: Unavailable, Cause: a.cause}
	case !a.ok():
		return Verdict{Fact: Unavailable, Cause: Transport}
	}
	var m verdictMessage
	unusable := Verdict{Fact: Unavailable, Cause: UnusableVerdict}
	if err := json.Unmarshal(a.body, &m); err != nil || m.RequestKey != key {
		return unusable
	}
	v := Verdict{Categories: m.Categories, Cost: costOf(m.CostMicros, m.Currency)}
	switch {
	case m.Verdict == verdictPass && len(m.Categories) == 0:
		v.Fact = Passed
	case m.Verdict == verdictReject && len(m.Categories) > 0:
		v.Fact = Rejected
	default:
		return unusable
	}
	return v
}

// Status asks where a task stands.
func (c *Client) Status(ctx context.Context, taskID string) Observation {
	o := c.observation(ctx, "/v1/generations/"+url.PathEscape(taskID))
	if o.TaskID != "" && o.TaskID != taskID {
		return Observation{Fact: Unknown, Cause: Unreadable}
	}
	return o
}

// Lookup asks for the newest task of a request key.
func (c *Client) Lookup(ctx context.Context, key string) Observation {
	o := c.observation(ctx, "/v1/generations?key="+url.QueryEscape(key))
	if o.Key != "" && o.Key != key {
		return Observation{Fact: Unknown, Cause: Unreadable}
	}
	return o
}

// ReadCallback reads the callback that a request carries.
func ReadCallback(r *http.Request) (Observation, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyMax))
	if err != nil {
		return Observation{}, fmt.Errorf("callback: %w", err)
	}
	var m callbackMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return Observation{}, fmt.Errorf("callback: %w", err)
	}
	o := observe(m.taskMessage)
	if o.Fact == Unknown {
		return Observation{}, errors.New("callback: want a task, its key and a status")
	}
	return o, nil
}

func (c *Client) observation(ctx context.Context, path string) Observation {
	request, err := http.NewRequest(http.MethodGet, c.base+path, nil)
	if err != nil {
		return Observation{Fact: Unknown, Cause: Transport}
	}
	a := c.send(ctx, request)
	switch {
	case a.cause != "":
		return Observation{Fact: Unknown, Cause: a.cause}
	case a.status == http.StatusNotFound && a.problem().Code == "not_found":
		return Observation{Fact: NotFound}
	case !a.ok():
		return Observation{Fact: Unknown, Cause: ServerError}
	}
	var m taskMessage
	if err := json.Unmarshal(a.body, &m); err != nil {
		return Observation{Fact: Unknown, Cause: Unreadable}
	}
	return observe(m)
}

func (c *Client) post(ctx context.Context, path, key string, message any) answer {
	body, err := json.Marshal(message)
	if err != nil {
		return answer{notSent: true, cause: Transport}
	}
	request, err := http.NewRequest(http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return answer{notSent: true, cause: Transport}
	}
	// net/http takes a POST with an Idempotency-Key for one that it may send again by itself when a kept connection breaks.
	// Without GetBody it can't.
	request.GetBody = nil
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(idempotencyKey, key)
	return c.send(ctx, request)
}

// answer is what came back: a status and a body, or a cause why there is none.
type answer struct {
	status  int
	body    []byte
	cause   Cause
	notSent bool // no connection was ever found for the request
}

func (c *Client) send(ctx context.Context, request *http.Request) answer {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	response, err := c.http.Do(request.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil {
		return answer{cause: causeOf(err), notSent: !connected.Load()}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, bodyMax))
	if err != nil {
		return answer{cause: causeOf(err)}
	}
	return answer{status: response.StatusCode, body: body}
}

func causeOf(err error) Cause {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return Timeout
	}
	return Transport
}

func (a answer) ok() bool { return a.status >= 200 && a.status < 300 }

// problem returns the error that the answer carries; without a code where it carries none.
func (a answer) problem() problem {
	var m errorMessage
	if err := json.Unmarshal(a.body, &m); err != nil || !validName(m.Error.Code) {
		return problem{}
	}
	return m.Error
}

// refusal judges a status that is not 2xx. Only a 4xx with a code is the provider's own no; a proxy's 404 is not, and the 4xx that mean
// "another request is in the way" or "too slow" say nothing about the work.
func (a answer) refusal() Submission {
	why := a.problem()
	switch {
	case a.status < 400 || a.status > 499 || why.Code == "":
		return Submission{Fact: Uncertain, Cause: ServerError}
	case a.status == http.StatusConflict && why.Code == "idempotency_key_reused":
		return Submission{Fact: Uncertain, Cause: KeyReused}
	case a.status == http.StatusRequestTimeout, a.status == http.StatusConflict, a.status == http.StatusTooEarly:
		return Submission{Fact: Uncertain, Cause: ServerError}
	}
	return Submission{Fact: Refused, Code: why.Code, Cost: costOf(why.CostMicros, why.Currency)}
}
