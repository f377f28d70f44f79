package fakeprovider

// Fact is what a worker has learnt from the provider.
type Fact string

// The facts of a submission, of an observation and of a verdict. Only definite answers are definite facts: whatever can hide
// accepted work is Uncertain or Unknown.
const (
	Accepted  Fact = "ACCEPTED"
	Refused   Fact = "REFUSED"   // by the provider, for sure
	NotSent   Fact = "NOT_SENT"  // no byte left this process
	Uncertain Fact = "UNCERTAIN" // it may have been accepted

	Pending   Fact = "PENDING"
	Succeeded Fact = "SUCCEEDED"
	Failed    Fact = "FAILED"
	NotFound  Fact = "NOT_FOUND" // now; it may be found later
	Unknown   Fact = "UNKNOWN"   // the provider could not be asked

	Passed      Fact = "PASSED"
	Rejected    Fact = "REJECTED"
	Unavailable Fact = "UNAVAILABLE" // the check failed, not the content
)

// Cause tells why a fact is Uncertain, Unknown or Unavailable.
type Cause string

// The causes. An unavailable check has one of Timeout, Transport and UnusableVerdict.
const (
	Timeout         Cause = "TIMEOUT"
	Transport       Cause = "TRANSPORT"        // the connection broke, or the caller gave up; of a check: or an error of the checker
	ServerError     Cause = "SERVER_ERROR"     // a status that says nothing for sure: 5xx, or 4xx without a code
	NoTask          Cause = "NO_TASK_ID"       // 2xx, but no task id can be read
	Unreadable      Cause = "UNREADABLE"       // 2xx, but the answer can't be read, or is about something else
	KeyReused       Cause = "KEY_REUSED"       // the key names other work already
	UnusableVerdict Cause = "UNUSABLE_VERDICT" // 2xx, but the verdict can't be used
)

// Cost is what the provider says it charged, whatever it says.
type Cost struct {
	AmountMicros int64
	Currency     string
}

// Submission is what one POST of a generation taught: Accepted with the task, Refused with the code, NotSent, or Uncertain with the
// cause. It speaks of that POST only: after a resend, Refused and NotSent say nothing of the other POST, and are to be reported as uncertain.
type Submission struct {
	Fact   Fact
	TaskID string
	Code   string
	Cost   *Cost // of a refusal; nil is unknown
	Cause  Cause
}

// Observation is what a status, a look-up or a callback taught: Pending, Succeeded or Failed with task and key, NotFound, or Unknown
// with the cause.
type Observation struct {
	Fact   Fact
	Key    string
	TaskID string
	Code   string // of a failed task
	Cost   *Cost  // of an ended task; nil is unknown
	Cause  Cause
}

// Verdict is what one POST of a check taught: Passed, Rejected with categories, NotSent, or Unavailable with the cause.
type Verdict struct {
	Fact       Fact
	Categories []string
	Cost       *Cost // nil is unknown
	Cause      Cause
}

func costOf(micros *int64, currency string) *Cost {
	if micros == nil {
		return nil
	}
	return &Cost{AmountMicros: *micros, Currency: currency}
}

// observe reads a task that the provider showed.
func observe(m taskMessage) Observation {
	o := Observation{Key: m.RequestKey, TaskID: m.TaskID, Code: m.Code, Cost: costOf(m.CostMicros, m.Currency)}
	switch m.Status {
	case TaskPending:
		o.Fact = Pending
	case TaskSucceeded:
		o.Fact = Succeeded
	case TaskFailed:
		o.Fact = Failed
	default:
		return Observation{Fact: Unknown, Cause: Unreadable}
	}
	if !validName(m.TaskID) || !validName(m.RequestKey) {
		return Observation{Fact: Unknown, Cause: Unreadable}
	}
	return o
}
