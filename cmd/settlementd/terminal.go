package main

import (
	"os"

	"github.com/jedib0t/go-pretty/v6/text"
)

// plainUnlessTerminal leaves colours out of what is written to a file or a pipe.
func plainUnlessTerminal(f *os.File) {
	if !isTerminal(f) {
		text.DisableColors()
	}
}

// isTerminal tells whether somebody may be watching.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
