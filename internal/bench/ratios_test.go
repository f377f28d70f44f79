package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func at(m Mode, callers int, calls, p50 float64) Point {
	return Point{
		Spec:           Spec{Mode: m, Callers: callers, Budgets: 1, Accounts: 10_000, Tenants: 1, Connections: 1},
		CallsPerSecond: calls, P50: p50, P99: 3 * p50, PeakRSS: 70,
	}
}

// TestRatiosAreOfThePointsThatTheyName compares one hot budget only, and says nothing of what was not measured.
func TestRatiosAreOfThePointsThatTheyName(t *testing.T) {
	t.Parallel()
	if got := ratios([]Point{at(Noop, 16, 1, 1)}, Commit{}); got != (Ratios{}) {
		t.Errorf("of one point: %+v", got)
	}
	spread := at(Lane, 256, 1e6, 1)
	spread.Budgets = 10
	due := at(Lane, 0, 5000, 2)
	due.Rate, due.Half = 5000, true
	points := []Point{
		spread, at(Noop, 256, 40_000, 5), at(Single, 256, 500, 5), at(Batch, 256, 30_000, 5), at(Lane, 256, 10_000, 5), due,
		at(Lane, 1, 900, 1.5), at(Lane, 1024, 12_000, 80),
	}
	of := func(v float64) *float64 { return &v }
	want := Ratios{of(0.25), of(20), of(0.75), of(3), of(3), of(70)}
	if diff := cmp.Diff(want, ratios(points, Commit{P50: 0.5})); diff != "" {
		t.Error(diff)
	}
}

// TestGrowthIsAgainstTheSmallestDatabase compares like with like.
func TestGrowthIsAgainstTheSmallestDatabase(t *testing.T) {
	t.Parallel()
	on := func(existing int64, p Point) Point {
		p.Existing = existing
		return p
	}
	got := growth([]Point{
		on(10, at(Lane, 256, 100, 1)), on(10, at(Batch, 256, 400, 1)), on(10, at(Lane, 16, 1, 1)),
		on(1000, at(Lane, 256, 90, 1)), on(1000, at(Batch, 256, 200, 1)), on(1000, at(Lane, 16, 1, 1)),
	})
	if diff := cmp.Diff([]Growth{{Lane, 10, 1000, 0.9}, {Batch, 10, 1000, 0.5}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestTheRatiosAreLast is for those who read only that.
func TestTheRatiosAreLast(t *testing.T) {
	t.Parallel()
	r := Report{Points: []Point{at(Noop, 256, 40_000, 5), at(Lane, 256, 10_000, 5)}}
	r.Ratios = ratios(r.Points, Commit{})
	lines := strings.Split(r.Table(), "\n")
	if last := strings.Fields(lines[len(lines)-1]); !cmp.Equal(last, []string{"lane_over_noop", "0.250"}) {
		t.Errorf("the last line has %q", last)
	}
}
