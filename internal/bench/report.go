package bench

import (
	"encoding/json"
	"io"
)

// Report is what a run measured.
type Report struct {
	Machine     Machine      `json:"machine"`
	Points      []Point      `json:"points"`
	Commit      Commit       `json:"commit"`
	Ratios      Ratios       `json:"ratios"`
	Growth      []Growth     `json:"growth,omitempty"`
	OldSnapshot *OldSnapshot `json:"old_snapshot,omitempty"`
	Ledger      Ledger       `json:"ledger"`
	Seconds     float64      `json:"seconds"` // that the run took
}

// Point is what was measured with one setting. Times are of an RPC; everything else is of a call.
type Point struct {
	Spec
	Seconds        float64 `json:"seconds"`
	Calls          int64   `json:"calls"`
	CallsPerSecond float64 `json:"calls_per_second"`
	PairsPerSecond float64 `json:"pairs_per_second,omitempty"`
	P50            float64 `json:"p50_ms"`
	P99            float64 `json:"p99_ms"`
	P999           float64 `json:"p999_ms"`
	CPU            CPU     `json:"cpu_micros_per_call"`
	Transactions   float64 `json:"transactions_per_call"` // that wrote something
	WALBytes       float64 `json:"wal_bytes_per_call"`
	Allocations    float64 `json:"server_allocations_per_call"`
	AllocatedBytes float64 `json:"server_allocated_bytes_per_call"`
	PeakRSS        float64 `json:"server_peak_rss_mib"`
	LateStarts     int64   `json:"late_starts"` // of calls that were due by the clock
}

// CPU is the time that each party computed for a call, in microseconds.
type CPU struct {
	Client   float64 `json:"client"`
	Server   float64 `json:"server"`
	Postgres float64 `json:"postgres"`
}

// Commit is how long PostgreSQL takes to update one row and commit, asked by one connection that does nothing else.
type Commit struct {
	Commits int64   `json:"commits"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
}

// Ledger is what verify found in the ledger after the run.
type Ledger struct {
	Good     bool     `json:"good"`
	Findings []string `json:"findings,omitempty"`
}

// Growth compares a mode on a large database with the same mode on the smallest.
type Growth struct {
	Mode  Mode    `json:"mode"`
	From  int64   `json:"from_reservations"`
	To    int64   `json:"to_reservations"`
	Ratio float64 `json:"throughput_ratio"`
}

// OldSnapshot is how the lane mode fared while no row version could be cleaned up.
type OldSnapshot struct {
	Seconds    float64 `json:"seconds"`
	FirstTenth float64 `json:"first_tenth_calls_per_second"`
	LastTenth  float64 `json:"last_tenth_calls_per_second"`
	Ratio      float64 `json:"last_over_first"`
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
