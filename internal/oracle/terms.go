package oracle

// Terms are the fixture of a situation and what is stamped on its reservation. Amounts are credits and micros, times seconds.
type Terms struct {
	Funding               string // CREDITS or FREE_ATTEMPT
	Credits               int64  // asked
	CreditsAvailable      int64  // of the account before
	FreeAttemptsAvailable int64
	SlotLimit             int64
	MaxInFlight           int64
	Budget                int64 // asked
	BudgetLimit           int64
	Currency              string
	TTL                   int64
	MaxAge                int64
	Permit                int64
	NotReceivedAfter      int64
	IdempotencyKey        int64 // 0 when the provider takes none
	CheckTimeout          int64
	OutputCheckRequired   bool
	RejectionCaptures     bool
	AuthoritativeObserver string // ANY or POLL
}

// setters take the words of the page; a word that is not here is refused.
var setters = map[string]func(*Terms, value){
	"funding":                   func(t *Terms, v value) { t.Funding = v.word("CREDITS", "FREE_ATTEMPT") },
	"credits":                   func(t *Terms, v value) { t.Credits = v.number() },
	"credits_available":         func(t *Terms, v value) { t.CreditsAvailable = v.number() },
	"free_attempts_available":   func(t *Terms, v value) { t.FreeAttemptsAvailable = v.number() },
	"slot_limit":                func(t *Terms, v value) { t.SlotLimit = v.number() },
	"max_in_flight":             func(t *Terms, v value) { t.MaxInFlight = v.number() },
	"budget":                    func(t *Terms, v value) { t.Budget = v.number() },
	"budget_limit":              func(t *Terms, v value) { t.BudgetLimit = v.number() },
	"currency":                  func(t *Terms, v value) { t.Currency = v.word("USD") },
	"ttl":                       func(t *Terms, v value) { t.TTL = v.number() },
	"max_age":                   func(t *Terms, v value) { t.MaxAge = v.number() },
	"permit":                    func(t *Terms, v value) { t.Permit = v.number() },
	"not_received_after":        func(t *Terms, v value) { t.NotReceivedAfter = v.number() },
	"idempotency_key":           func(t *Terms, v value) { t.IdempotencyKey = v.number() },
	"check_timeout":             func(t *Terms, v value) { t.CheckTimeout = v.number() },
	"output_check_required":     func(t *Terms, v value) { t.OutputCheckRequired = v.word("YES", "NO") == "YES" },
	"output_rejection_captures": func(t *Terms, v value) { t.RejectionCaptures = v.word("YES", "NO") == "YES" },
	"authoritative_observer":    func(t *Terms, v value) { t.AuthoritativeObserver = v.word("ANY", "POLL") },
}

// Under is the terms as the call's own amounts change them: a Reserve that asks for something else.
func (c *Call) Under(t Terms) Terms {
	if c.RPC != "Reserve" || c.Args["reservation"] == "another" {
		return t
	}
	for _, name := range []string{"credits", "budget"} {
		if text, asked := c.Args[name]; asked {
			setters[name](&t, value{text: text, complain: func(string) {}})
		}
	}
	return t
}
