package bench

import (
	"fmt"
	"slices"
)

// Mode is a way to make calls.
type Mode string

// The modes; the package comment describes them.
const (
	Noop   Mode = "noop"
	Single Mode = "single"
	Lane   Mode = "lane"
	Batch  Mode = "batch"
)

// Spec says what is measured at one point.
type Spec struct {
	Mode        Mode `json:"mode"`
	Callers     int  `json:"callers"`
	Budgets     int  `json:"budgets"`     // that a tenant's calls are spread over
	Accounts    int  `json:"accounts"`    // of all tenants together
	Tenants     int  `json:"tenants"`     // that calls are spread over
	Connections int  `json:"connections"` // of the client
	// ItemsPerRPC is how many calls an RPC carries.
	ItemsPerRPC int `json:"items_per_rpc"`
	// RPCsInFlight is how many RPCs wait for an answer at a time. Callers of a batch wait together.
	RPCsInFlight int `json:"rpcs_in_flight"`
	// Rate is how many calls are due in a second, 0 in a closed loop.
	Rate float64 `json:"rate_per_second,omitempty"`
	// Half tells that the rate is half of what the lane mode reached.
	Half bool `json:"half_load,omitempty"`
	// Existing is how many reservations were there before.
	Existing int64 `json:"existing_reservations"`
}

// accountsOfTenant is how many accounts each tenant has.
func (s Spec) accountsOfTenant() int { return (s.Accounts + s.Tenants - 1) / s.Tenants }

// base tells whether nothing but the callers differs from the point that all are compared with: one hot budget of one tenant.
func (s Spec) base() bool {
	return s.Budgets == 1 && s.Tenants == 1 && s.Accounts > 1 && s.Connections == 1 && s.Rate == 0
}

// names tells whether the list has the mode.
func names(modes []Mode, m Mode) bool { return slices.Contains(modes, m) }

// Title says what tells the point from most others.
func (s Spec) Title() string {
	what := fmt.Sprintf("%s, %s", s.Mode, counted(int64(s.Callers), "caller"))
	if s.Rate > 0 {
		what = fmt.Sprintf("%s, %.0f calls due a second", s.Mode, s.Rate)
	}
	for _, other := range []struct {
		differs bool
		text    string
	}{
		{s.Budgets > 1, fmt.Sprintf("%d budgets", s.Budgets)}, {s.Accounts == 1, "1 account"},
		{s.Tenants > 1, fmt.Sprintf("%d tenants", s.Tenants)}, {s.Connections > 1, fmt.Sprintf("%d connections", s.Connections)},
		{s.Existing > 0, counted(s.Existing, "reservation") + " before"},
	} {
		if other.differs {
			what += ", " + other.text
		}
	}
	return what
}
