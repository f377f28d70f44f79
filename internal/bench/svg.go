package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The measures of a drawing, in pixels.
const (
	width, height = 720.0, 320.0 // of a panel
	left, right   = 80.0, 100.0  // of the plane in it
	top, bottom   = 40.0, 40.0
	beside        = 8.0 // of a text
	lineHeight    = 14.0
	lower         = 4.0 // of a text whose middle is to be at a line
)

var colours = map[Mode]string{Noop: "#767676", Single: "#d55e00", Lane: "#0072b2", Batch: "#008060"}

// drawing is an SVG image of panels, one below the other.
type drawing struct {
	text strings.Builder
	down float64 // where the next panel begins
}

func newDrawing(panels int) *drawing {
	d := &drawing{}
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" font-family="sans-serif" font-size="12">`, width, height*float64(panels))
	d.add(`<rect width="100%%" height="100%%" fill="white"/>`)
	return d
}

func (d *drawing) end() string {
	d.add("</svg>")
	return d.text.String()
}

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(&d.text, format+"\n", args...) }

// panel draws lines with both axes by powers.
func (d *drawing) panel(title string, lines []line) {
	x := axis{from: left, to: width - right}
	y := axis{from: d.down + height - bottom, to: d.down + top}
	for _, l := range lines {
		for _, p := range l.at {
			x.include(p.x)
			y.include(p.y)
		}
	}
	x.round(2)
	y.round(10)
	d.add(`<text x="%g" y="%g" font-weight="bold">%s</text>`, left, d.down+top-2*beside, title)
	for at := y.low; at <= y.high; at *= 10 {
		d.add(`<path d="M%g %.1fH%g" stroke="#ddd"/>`, x.from, y.place(at), x.to)
		d.add(`<text x="%g" y="%.1f" text-anchor="end">%g</text>`, x.from-beside, y.place(at)+lower, at)
	}
	for at := x.low; at <= x.high; at *= 4 {
		d.add(`<path d="M%.1f %gV%g" stroke="#ddd"/>`, x.place(at), y.from, y.to)
		d.add(`<text x="%.1f" y="%g" text-anchor="middle">%g</text>`, x.place(at), y.from+2*beside+lower, at)
	}
	for _, l := range lines {
		d.line(l, x, y)
	}
	d.names(lines, x, y)
	d.down += height
}

// line draws a line with its points, which tell their values to whoever points at them.
func (d *drawing) line(l line, x, y axis) {
	var path []string
	for _, p := range l.at {
		path = append(path, fmt.Sprintf("%.1f,%.1f", x.place(p.x), y.place(p.y)))
		d.add(`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s, %s: %.2f</title></circle>`,
			x.place(p.x), y.place(p.y), colours[l.mode], l.mode, counted(int64(p.x), "caller"), p.y)
	}
	d.add(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`, strings.Join(path, " "), colours[l.mode])
}

// names writes the name of each line behind its last point, from the top down and none over another.
func (d *drawing) names(lines []line, x, y axis) {
	lines = slices.Clone(lines)
	last := func(l line) place { return l.at[len(l.at)-1] }
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(last(b).y, last(a).y) })
	above := 0.0
	for _, l := range lines {
		at := max(y.place(last(l).y), above+lineHeight)
		above = at
		d.add(`<text x="%.1f" y="%.1f" fill="%s">%s</text>`, x.place(last(l).x)+beside, at+lower, colours[l.mode], l.mode)
	}
}

// axis places values by their logarithm.
type axis struct {
	low, high float64 // values
	from, to  float64 // where they are
}

func (a *axis) include(v float64) {
	if a.low == 0 || v < a.low {
		a.low = v
	}
	a.high = max(a.high, v)
}

// round widens the axis to whole powers of a base.
func (a *axis) round(base float64) {
	if a.low == 0 { // it has no values
		a.low, a.high = 1, base
	}
	a.low = math.Pow(base, math.Floor(math.Log(a.low)/math.Log(base)+1e-9))
	a.high = math.Pow(base, math.Ceil(math.Log(a.high)/math.Log(base)-1e-9))
	if a.low == a.high {
		a.high *= base
	}
}

func (a *axis) place(v float64) float64 {
	return a.from + (a.to-a.from)*math.Log(v/a.low)/math.Log(a.high/a.low)
}
