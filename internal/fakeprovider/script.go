package fakeprovider

import (
	"errors"
	"fmt"
	"time"
)

// Answer is how one POST is answered. "Before" means before the provider accepted the work: nothing is billed.
// "After" means that the work is accepted and billed, whatever the sender sees.
type Answer string

// The answers. A generation takes all of them, a check all but Refuse and NoTaskID.
const (
	Plainly     Answer = "answer"       // accept and say so
	Refuse      Answer = "refuse"       // 4xx with a code; nothing is accepted
	NoTaskID    Answer = "no_task_id"   // accepted, 2xx, but the task id is lost
	Garbage     Answer = "garbage"      // accepted, 2xx, but nobody can read the answer
	ErrorBefore Answer = "error_before" // 503
	ErrorAfter  Answer = "error_after"
	CutBefore   Answer = "cut_before" // the connection is closed without an answer
	CutAfter    Answer = "cut_after"
	HangBefore  Answer = "hang_before" // no answer until the sender gives up; a release cuts the connection
	HangAfter   Answer = "hang_after"
	HoldBefore  Answer = "hold_before" // a release accepts and answers; it accepts even if the sender is gone by then
	HoldAfter   Answer = "hold_after"  // accepted at once, answered by a release
)

type way int

const (
	answers way = iota
	refuses
	losesTaskID
	babbles
	fails
	cuts
	hangs
	holds
)

// manners splits an answer into what the sender sees and whether the work is accepted first.
var manners = map[Answer]struct {
	way     way
	accepts bool
}{
	Plainly:     {answers, true},
	Refuse:      {refuses, false},
	NoTaskID:    {losesTaskID, true},
	Garbage:     {babbles, true},
	ErrorBefore: {fails, false},
	ErrorAfter:  {fails, true},
	CutBefore:   {cuts, false},
	CutAfter:    {cuts, true},
	HangBefore:  {hangs, false},
	HangAfter:   {hangs, true},
	HoldBefore:  {holds, false},
	HoldAfter:   {holds, true},
}

// TaskStatus is where a task stands.
type TaskStatus string

// The statuses of a task. The last two are final.
const (
	TaskPending   TaskStatus = "pending"
	TaskSucceeded TaskStatus = "succeeded"
	TaskFailed    TaskStatus = "failed"
)

// GenerationScript tells what happens to the generations of a key. The zero value accepts, bills the server's usual cost,
// succeeds at once and calls back once where the request names a URL.
type GenerationScript struct {
	Answers    []Answer `json:"answers,omitempty"` // to the 1st, 2nd, … POST of the key; the last one repeats
	HoldMillis int64    `json:"hold_ms,omitempty"` // releases a held answer by itself; 0 waits for a release
	Refusal    Refusal  `json:"refusal,omitzero"`

	End            TaskStatus `json:"end,omitempty"`             // pending: until a finish; absent: succeeded
	FailureCode    string     `json:"failure_code,omitempty"`    // of a failed task; absent: generation_failed
	NotFoundPolls  int        `json:"not_found_polls,omitempty"` // so many polls and look-ups are answered 404 first
	PendingPolls   int        `json:"pending_polls,omitempty"`   // then so many say pending before the task ends
	EndAfterMillis int64      `json:"end_after_ms,omitempty"`    // or it ends when so much time has passed

	CostMicros     *int64 `json:"cost_micros,omitempty"`      // billed at acceptance, whatever becomes of the task; absent: the server's
	ToldCostMicros *int64 `json:"told_cost_micros,omitempty"` // what answers say instead, any number at all; the statement tells the truth
	HideCost       bool   `json:"hide_cost,omitempty"`        // answers tell no cost, only the statement does
	Callbacks      *int   `json:"callbacks,omitempty"`        // deliveries of the end; absent: 1
}

// Refusal is a valid refusal of a generation.
type Refusal struct {
	Status     int    `json:"status,omitempty"`      // 400–499; absent: 422
	Code       string `json:"code,omitempty"`        // absent: content_policy
	CostMicros int64  `json:"cost_micros,omitempty"` // billed once a key
}

// CheckScript tells what happens to the checks of a key. The zero value passes at the server's usual cost.
type CheckScript struct {
	Answers    []Answer `json:"answers,omitempty"`
	HoldMillis int64    `json:"hold_ms,omitempty"`
	Categories []string `json:"categories,omitempty"` // the verdict is a rejection for these; absent: a pass

	CostMicros     *int64 `json:"cost_micros,omitempty"`
	ToldCostMicros *int64 `json:"told_cost_micros,omitempty"`
	HideCost       bool   `json:"hide_cost,omitempty"`
}

const (
	stepsMax      = 16
	pollsMax      = 1_000_000
	callbacksMax  = 10
	categoriesMax = 32
	durationMax   = time.Hour
)

func (s *GenerationScript) validate() error {
	if err := validateAnswers(s.Answers, func(Answer) bool { return true }); err != nil {
		return err
	}
	refusal := s.Refusal
	switch {
	case !validMillis(s.HoldMillis) || !validMillis(s.EndAfterMillis):
		return fmt.Errorf("hold_ms and end_after_ms: want 0 to %d", durationMax.Milliseconds())
	case refusal.Status != 0 && (refusal.Status < 400 || refusal.Status > 499):
		return fmt.Errorf("refusal.status %d: want 400 to 499", refusal.Status)
	case refusal.Code != "" && !validName(refusal.Code) || s.FailureCode != "" && !validName(s.FailureCode):
		return errors.New("codes: want 1 to 128 printable ASCII characters without space")
	case !validAmount(refusal.CostMicros) || s.CostMicros != nil && !validAmount(*s.CostMicros):
		return fmt.Errorf("cost_micros: want 0 to %d", int64(AmountMax))
	case s.Callbacks != nil && (*s.Callbacks < 0 || *s.Callbacks > callbacksMax):
		return fmt.Errorf("callbacks: want 0 to %d", callbacksMax)
	}
	return s.validateEnd()
}

func (s *GenerationScript) validateEnd() error {
	switch s.End {
	case "", TaskPending, TaskSucceeded, TaskFailed:
	default:
		return fmt.Errorf("end %q: want pending, succeeded or failed", s.End)
	}
	switch {
	case s.NotFoundPolls < 0 || s.NotFoundPolls > pollsMax || s.PendingPolls < 0 || s.PendingPolls > pollsMax:
		return fmt.Errorf("polls: want 0 to %d", pollsMax)
	case s.PendingPolls > 0 && s.EndAfterMillis > 0:
		return errors.New("pending_polls and end_after_ms: want one of them")
	case s.End == TaskPending && (s.PendingPolls > 0 || s.EndAfterMillis > 0):
		return errors.New("end pending: only a finish ends it, so neither pending_polls nor end_after_ms fits")
	}
	return nil
}

func (s *CheckScript) validate() error {
	fits := func(a Answer) bool { return a != Refuse && a != NoTaskID }
	if err := validateAnswers(s.Answers, fits); err != nil {
		return err
	}
	switch {
	case !validMillis(s.HoldMillis):
		return fmt.Errorf("hold_ms: want 0 to %d", durationMax.Milliseconds())
	case s.CostMicros != nil && !validAmount(*s.CostMicros):
		return fmt.Errorf("cost_micros: want 0 to %d", int64(AmountMax))
	case len(s.Categories) > categoriesMax:
		return fmt.Errorf("categories: want at most %d", categoriesMax)
	}
	for _, category := range s.Categories {
		if !validName(category) {
			return fmt.Errorf("category %q: want 1 to 128 printable ASCII characters without space", category)
		}
	}
	return nil
}

func validateAnswers(list []Answer, fits func(Answer) bool) error {
	if len(list) > stepsMax {
		return fmt.Errorf("answers: want at most %d", stepsMax)
	}
	for _, a := range list {
		if _, known := manners[a]; !known || !fits(a) {
			return fmt.Errorf("answers: %q does not fit here", a)
		}
	}
	return nil
}

func validMillis(ms int64) bool { return ms >= 0 && ms <= durationMax.Milliseconds() }

// answerAt returns the answer to the POST number step, counted from 0.
func answerAt(list []Answer, step int) Answer {
	if len(list) == 0 {
		return Plainly
	}
	return list[min(step, len(list)-1)]
}
