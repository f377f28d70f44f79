package bench

// Ratios are what of a run means something on other machines, too. One whose points were not measured is absent.
type Ratios struct {
	LaneOverNoop   *float64 `json:"lane_over_noop,omitempty"`   // throughput, 256 callers on one hot budget
	LaneOverSingle *float64 `json:"lane_over_single,omitempty"` // throughput, 256 callers on one hot budget
	BatchOverNoop  *float64 `json:"batch_over_noop,omitempty"`  // throughput, 256 callers on one hot budget
	LoneOverCommit *float64 `json:"lone_over_commit,omitempty"` // p50 of one caller of the lane mode, over p50 of a commit
	P99OverP50     *float64 `json:"p99_over_p50_at_half_load,omitempty"`
	PeakRSSAt1024  *float64 `json:"server_peak_rss_mib_at_1024,omitempty"` // of the lane mode
}

// ratios computes them from the points, on the smallest database where there are several.
func ratios(points []Point, commit Commit) Ratios {
	var r Ratios
	at := func(m Mode, callers int) *Point {
		for i, p := range points {
			if p.Mode == m && p.Callers == callers && p.base() && p.Existing == points[0].Existing {
				return &points[i]
			}
		}
		return nil
	}
	throughput := func(over, under Mode) *float64 {
		a, b := at(over, baseCallers), at(under, baseCallers)
		if a == nil || b == nil {
			return nil
		}
		return quotient(a.CallsPerSecond, b.CallsPerSecond)
	}
	r.LaneOverNoop, r.LaneOverSingle, r.BatchOverNoop = throughput(Lane, Noop), throughput(Lane, Single), throughput(Batch, Noop)
	if lone := at(Lane, 1); lone != nil {
		r.LoneOverCommit = quotient(lone.P50, commit.P50)
	}
	if crowd := at(Lane, 1024); crowd != nil && crowd.PeakRSS > 0 {
		r.PeakRSSAt1024 = &crowd.PeakRSS
	}
	for _, p := range points {
		if p.Half && r.P99OverP50 == nil {
			r.P99OverP50 = quotient(p.P99, p.P50)
		}
	}
	return r
}

// growth compares every mode at its base point on each database with that on the first.
func growth(points []Point) []Growth {
	var all []Growth
	for _, p := range points {
		for _, first := range points {
			same := first.Spec
			if same.Existing = p.Existing; same == p.Spec && first.Existing < p.Existing && first.Existing == points[0].Existing {
				if q := quotient(p.CallsPerSecond, first.CallsPerSecond); q != nil && p.base() && p.Callers == baseCallers {
					all = append(all, Growth{p.Mode, first.Existing, p.Existing, *q})
				}
			}
		}
	}
	return all
}

func quotient(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	q := a / b
	return &q
}
