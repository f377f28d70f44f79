package fakeprovider

// Counters count what came in, for one key or for all. All but Held only grow until a reset.
type Counters struct {
	Received        int64 `json:"received"`         // well-formed POSTs, whatever became of them
	Paid            int64 `json:"paid"`             // of these, accepted as new work
	Replayed        int64 `json:"replayed"`         // of these, met work that their key named already
	Refused         int64 `json:"refused"`          // of these, validly refused
	Polls           int64 `json:"polls"`            // statuses and look-ups asked for
	Held            int64 `json:"held"`             // held or hanging now, waiting for a release
	Callbacks       int64 `json:"callbacks"`        // callbacks that were answered 2xx
	CallbacksFailed int64 `json:"callbacks_failed"` // callbacks that were not
	ChargedMicros   int64 `json:"charged_micros"`   // on the statement
}

// Counts are the counters of both kinds of requests.
type Counts struct {
	Generations Counters `json:"generations"`
	Checks      Counters `json:"checks"`
}

// Charge is one line of the provider's statement.
type Charge struct {
	RequestKey string `json:"request_key"`
	TaskID     string `json:"provider_task_id"` // empty for checks and refusals
	CostMicros int64  `json:"cost_micros"`
	Currency   string `json:"currency"`
}
