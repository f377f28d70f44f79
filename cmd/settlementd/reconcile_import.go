package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settlementd/settlementd/internal/reconcile/command"
	"github.com/settlementd/settlementd/internal/reconcile/command/usagefile"
)

// importCmd holds a provider's usage export against the journal.
type importCmd struct {
	Provider     string `required:"" help:"The provider that made the export." placeholder:"ID"`
	File         string `type:"path" required:"" help:"The export: delimiter-separated text whose header has request_key or provider_task_id, cost (12.50) or cost_micros (12500000), and currency." placeholder:"FILE"`
	Statement    string `help:"Name of the statement. Absent: made from the file's name and content, so that the same file is the same statement." placeholder:"ID"`
	PeriodStart  string `help:"When the statement's period begins, as 2026-11-01 or 2026-11-01T00:00:00Z. With it, requests are listed that the statement lacks." placeholder:"TIME"`
	PeriodEnd    string `help:"The first moment after the period." placeholder:"TIME"`
	Delimiter    string `enum:"auto,comma,semicolon,tab" default:"auto" help:"What separates the fields (auto, comma, semicolon, tab)."`
	DecimalComma bool   `help:"Costs are written 12,50."`
}

// Validate refuses a period that is none.
func (i *importCmd) Validate() error {
	start, err := pointInTime(i.PeriodStart)
	if err != nil {
		return fmt.Errorf("period-start: %w", err)
	}
	end, err := pointInTime(i.PeriodEnd)
	if err != nil {
		return fmt.Errorf("period-end: %w", err)
	}
	if start.IsZero() != end.IsZero() || !start.IsZero() && !end.After(start) {
		return errors.New("period-end: must be there if period-start is, and after it")
	}
	return nil
}

// pointInTime reads a day, which begins at midnight in UTC, or a moment.
func pointInTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("want a time such as 2026-11-01 or 2026-11-01T00:00:00Z, not %q", text)
	}
	return at, nil
}

var delimiters = map[string]byte{"comma": ',', "semicolon": ';', "tab": '\t'}

// Run imports.
func (i *importCmd) Run(ctx context.Context, c *cli) error {
	st := command.Statement{
		Provider: i.Provider, ID: i.Statement, Options: usagefile.Options{Delimiter: delimiters[i.Delimiter], DecimalComma: i.DecimalComma},
	}
	st.Start, _ = pointInTime(i.PeriodStart) // validated
	st.End, _ = pointInTime(i.PeriodEnd)
	if err := st.Open(i.File); err != nil {
		return err
	}
	defer st.Close()
	return c.Reconcile.with(ctx, func(s *command.Session) error { return s.Import(ctx, &st) })
}
