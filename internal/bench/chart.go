package bench

import (
	"cmp"
	"io"
	"slices"
)

// Chart draws throughput and p99 over the number of callers, a line for each mode, as an SVG image.
func (r *Report) Chart(w io.Writer) error {
	d := newDrawing(2)
	d.panel("calls a second, by callers", r.lines(func(p Point) float64 { return p.CallsPerSecond }))
	d.panel("p99 of an RPC in milliseconds, by callers", r.lines(func(p Point) float64 { return p.P99 }))
	_, err := io.WriteString(w, d.end())
	return err
}

// line is a mode's line in a chart: points of callers and a value, both above zero.
type line struct {
	mode Mode
	at   []place
}

type place struct{ x, y float64 }

// lines are the points that differ in their mode and callers only, on the first database.
func (r *Report) lines(value func(Point) float64) []line {
	var all []line
	for _, mode := range []Mode{Noop, Single, Lane, Batch} {
		l := line{mode: mode}
		for _, p := range r.Points {
			if p.Mode == mode && p.base() && p.Existing == r.Points[0].Existing && value(p) > 0 {
				l.at = append(l.at, place{float64(p.Callers), value(p)})
			}
		}
		if len(l.at) > 0 {
			slices.SortFunc(l.at, func(a, b place) int { return cmp.Compare(a.x, b.x) })
			all = append(all, l)
		}
	}
	return all
}
