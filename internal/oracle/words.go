package oracle

// The vocabulary of the page. A word that is not here is a mistake of the page.

var (
	states    = []string{"PENDING", "PROCESSING", "UNCERTAIN", "COMPLETED", "FAILED", "REJECTED", "CANCELLED", "EXPIRED"}
	knowledge = []string{
		"PERMITTED", "UNCERTAIN", "ACCEPTED", "NOT_SENT", "NOT_ACCEPTED", "NOT_RECEIVED", "SUCCEEDED", "FAILED",
	}
	outcomes = []string{
		"COMPLETED", "PROVIDER_FAILED", "POLICY_REJECTED:INPUT", "POLICY_REJECTED:OUTPUT", "MODERATION_UNAVAILABLE:INPUT",
		"MODERATION_UNAVAILABLE:OUTPUT", "CANCELLED", "EXPIRED", "NOT_RECEIVED", "GIVEN_UP",
	}
	events = []string{
		"RESERVED", "PERMITTED", "RESENT", "REPORTED", "COST_RECORDED", "CANCEL_REQUESTED", "EXTENDED", "RESUMED", "OVERDUE",
		"COMPLETED", "PROVIDER_FAILED", "POLICY_REJECTED", "MODERATION_UNAVAILABLE", "CANCELLED", "EXPIRED", "NOT_RECEIVED",
		"GIVEN_UP",
	}
	exceptions = []string{
		"SUPERSEDED", "UNKNOWN_ATTEMPT", "TASK_MISMATCH", "STALE_ATTEMPT", "CONFLICTING_FACT", "OUTPUT_CHECK_REQUIRED",
		"CHARGE_EXCEEDS_HOLD", "CHARGE_NOT_APPLICABLE", "COST_CONFLICT", "CURRENCY_MISMATCH", "NOT_THE_PERMIT_HOLDER",
	}
)

// moveWords are the values that a name of a view may take in a row; a name that is not here, and is no line, is refused.
// An empty list stands for a number.
var moveWords = map[string][]string{
	State:    states,
	Outcome:  outcomes,
	Credit:   {"HELD", "RETURNED", "CAPTURED", "CAPTURED:4"},
	Slot:     {"HELD", "RELEASED"},
	Budget:   {"HELD", "ENDED"},
	Output:   {"NONE", "WITHHELD", "RELEASABLE"},
	Overdue:  {"MARKED", "CLEARED"},
	Cancel:   {"ASKED"},
	Deadline: {},
	Another:  {"RESERVED"},
}

// lineWords are the same for what a view shows of a line.
var lineWords = map[string][]string{
	"":          knowledge,
	".cost":     {},
	".task":     {"KNOWN"},
	".permit":   {},
	".resent":   {"YES"},
	".evidence": {"KEPT"},
}

// An rpcWords is what a call of an RPC can say, and what it can be answered. Words with a reason list the reasons.
type rpcWords struct {
	facts   []string
	args    []string
	answers map[string][]string
}

// numbered arguments, and those that take one of some words.
var argWords = map[string][]string{
	"cost": {}, "charge": {}, "ttl": {}, "resume": {}, "wait": {}, "credits": {}, "budget": {},
	"token": {"own", "other"}, "task": {"own", "other"}, "not_sent": {"key", "first", "other"},
	"check": {"check", "unknown-key"}, "currency": {"EUR"}, "reservation": {"another"}, "resend": {"YES"},
	"stage":        {"INPUT", "OUTPUT", "same", "other"},
	"observer":     {"CALLBACK", "POLL", "WORKER", "FRONTEND"},
	"output_check": {"NOT_REQUIRED", "PASSED", "REJECTED", "UNAVAILABLE", "NOT_DONE"},
}

var refusedFacts = []string{
	"UNKNOWN_ATTEMPT", "TASK_MISMATCH", "STALE_ATTEMPT", "CONFLICTING_FACT", "OUTPUT_CHECK_REQUIRED", "CHARGE_EXCEEDS_HOLD",
	"CHARGE_NOT_APPLICABLE", "COST_CONFLICT", "CURRENCY_MISMATCH", "NOT_THE_PERMIT_HOLDER", "TOO_EARLY", "NOT_A_GENERATION",
}

var codes = []string{"NOT_FOUND", "ALREADY_EXISTS", "INVALID_ARGUMENT", "FAILED_PRECONDITION"}

// rpcs are the calls of the page. Sweep is no RPC, but a caller like any other.
var rpcs = map[string]rpcWords{
	"Reserve": {
		facts: []string{"reserve"},
		args:  []string{"reservation", "credits", "budget", "token"},
		answers: map[string][]string{
			"GRANTED": {"PERMIT"}, "REPLAYED": {"PERMIT"},
			"DENIED": {
				"ACCOUNT_SUSPENDED", "PROVIDER_DISABLED", "NO_FREE_ATTEMPT", "INSUFFICIENT_CREDITS", "SLOTS_EXHAUSTED",
				"PROVIDER_BUSY:0", "PROVIDER_BUSY:1", "BUDGET_EXHAUSTED", "KEY_OF_ANOTHER_RESERVATION",
			},
		},
	},
	"ExtendReservation": {
		facts:   []string{"extend"},
		args:    []string{"ttl"},
		answers: map[string][]string{"RESERVATION": nil, "REFUSED": {"NOT_OPEN", "BEYOND_MAXIMUM_AGE"}},
	},
	"BeginSubmission": {
		facts: []string{"generation", "moderation"},
		args:  []string{"token", "resend", "stage"},
		answers: map[string][]string{
			"GRANTED": nil, "RESEND": nil, "ALREADY_GRANTED": nil,
			"REFUSED": {
				"KEY_OF_ANOTHER_RESERVATION", "KEY_OF_ANOTHER_KIND", "UNKNOWN_ATTEMPT", "NOT_OPEN", "ALREADY_SUCCEEDED",
				"NO_SUCCEEDED_GENERATION", "UNRESOLVED", "CANCEL_REQUESTED", "DEADLINE_PASSED",
			},
		},
	},
	"ReportSubmission": {
		facts:   []string{"accepted", "not_accepted", "not_sent", "uncertain", "succeeded", "failed"},
		args:    []string{"task", "token", "cost", "currency"},
		answers: map[string][]string{"APPLIED": nil, "REPLAYED": nil, "REFUSED": refusedFacts},
	},
	"Settle": {
		facts: []string{
			"completed", "provider_failed", "policy_rejected", "moderation_unavailable", "submission_uncertain", "cancelled",
		},
		args: []string{"output_check", "stage", "cost", "currency", "charge", "observer", "not_sent", "check", "task"},
		answers: map[string][]string{
			"APPLIED": nil, "REPLAYED": nil, "SUPERSEDED": nil, "HELD": {"GENERATION_UNSETTLED", "AWAITING_POLL"},
			"REFUSED": refusedFacts,
		},
	},
	"Reconcile": {
		facts: []string{
			"accepted", "not_received", "succeeded", "failed", "cost_confirmed", "nothing_charged", "given_up", "still_unknown",
		},
		args: []string{"task", "ttl", "resume", "output_check", "cost", "currency", "wait"},
		answers: map[string][]string{
			"APPLIED": nil, "REPLAYED": nil, "SUPERSEDED": nil, "REFUSED": refusedFacts,
		},
	},
	"GetReservation": {facts: []string{"get"}, answers: map[string][]string{"RESERVATION": nil}},
	"Sweep":          {facts: []string{"sweep"}, answers: map[string][]string{"SWEPT": nil, "NOTHING": nil}},
}
