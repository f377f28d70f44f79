package command

import (
	"fmt"
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows how far long work has come: a bar on a terminal, lines elsewhere.
type progress interface {
	// at says that so much is done.
	at(done int64)
	// end takes a bar off that is not full.
	end()
}

// progress starts to show the way to total.
func (s *Session) progress(what, unit string, total int64) progress {
	if s.Live {
		return newBar(s.Notes, what, total)
	}
	return &plainLines{to: s.Notes, what: what, unit: unit, total: total}
}

type bar struct {
	container *mpb.Progress
	bar       *mpb.Bar
	total     int64
}

func newBar(to io.Writer, what string, total int64) *bar {
	const width = 60
	p := mpb.New(mpb.WithOutput(to), mpb.WithWidth(width))
	return &bar{container: p, total: total, bar: p.AddBar(total,
		mpb.PrependDecorators(decor.Name(what+" "), decor.CountersNoUnit("%d of %d ")),
		mpb.AppendDecorators(decor.Percentage(decor.WCSyncSpace), decor.Name(" "), decor.AverageETA(decor.ET_STYLE_GO)),
	)}
}

func (b *bar) at(done int64) { b.bar.SetCurrent(min(done, b.total)) }

func (b *bar) end() {
	b.bar.Abort(false) // does nothing to a full one
	b.container.Wait()
}

// plainLines writes a line at every tenth of the way.
type plainLines struct {
	to         io.Writer
	what, unit string
	total      int64
	tenths     int64
}

func (l *plainLines) at(done int64) {
	const parts = 10
	if tenths := parts * min(done, l.total) / max(l.total, 1); tenths > l.tenths {
		l.tenths = tenths
		fmt.Fprintf(l.to, "%s: %d of %d %s\n", l.what, min(done, l.total), l.total, l.unit)
	}
}

func (l *plainLines) end() {}
