package bench

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestAChartIsWellFormed counts the lines of its two panels.
func TestAChartIsWellFormed(t *testing.T) {
	t.Parallel()
	report := Report{Points: []Point{at(Lane, 256, 9000, 30), at(Noop, 1, 8000, 0.1), at(Lane, 1, 900, 1), at(Noop, 256, 50_000, 4), at(Single, 256, 500, 400)}}
	for _, of := range []struct {
		report Report
		lines  int
		points int
	}{{report, 6, 10}, {Report{}, 0, 0}} {
		var out strings.Builder
		if err := of.report.Chart(&out); err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for d := xml.NewDecoder(strings.NewReader(out.String())); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, out.String())
			}
			if start, ok := token.(xml.StartElement); ok {
				counts[start.Name.Local]++
			}
		}
		if counts["svg"] != 1 || counts["polyline"] != of.lines || counts["circle"] != of.points {
			t.Errorf("counted %v", counts)
		}
		if strings.Contains(out.String(), "1 callers") || of.points > 0 && !strings.Contains(out.String(), "lane, 1 caller: 900.00") {
			t.Errorf("a caller alone is not told as one: %s", out.String())
		}
		if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "Inf") {
			t.Errorf("a place is no number: %s", out.String())
		}
	}
}
