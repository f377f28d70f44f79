package main

import (
	"os"

	"github.com/jedib0t/go-pretty/v6/text"
)

// plainUnlessTerminal leaves colours out of what is written to a file or a pipe.
func plainUnlessTerminal(f *os.File) {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		text.DisableColors()
	}
}
