package demo

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table draws the results, and below it why scenarios failed.
func Table(results []Result) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns, t.Style().Options.DrawBorder = false, false
	t.Style().Box.PaddingLeft = ""
	t.SuppressTrailingSpaces()
	t.AppendHeader(table.Row{"", "scenario", "outcome", "credit hold", "slot", "budget\nheld $", "budget\nspent $", "paid\nPOSTs", "output"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 6, Align: text.AlignRight, AlignHeader: text.AlignRight},
		{Number: 7, Align: text.AlignRight, AlignHeader: text.AlignRight},
		{Number: 8, Align: text.AlignRight, AlignHeader: text.AlignRight},
	})
	for _, r := range results {
		h := r.Holds
		if h == (Holds{}) {
			t.AppendRow(table.Row{mark(false), r.Title, "unknown"})
			continue
		}
		t.AppendRow(table.Row{
			mark(r.Err == nil), r.Title, r.outcome(), h.credit(), plain(h.Slot),
			dollars(h.BudgetHeld), dollars(h.BudgetSpent), r.Posts, plain(h.Output),
		})
	}
	var out strings.Builder
	out.WriteString(t.Render())
	for _, r := range results {
		if r.Err != nil {
			fmt.Fprintf(&out, "\n%s %s (%s): %v", mark(false), r.Title, r.Name, r.Err)
		}
	}
	return out.String()
}

// mark is ✓ or ✗.
func mark(good bool) string {
	if good {
		return text.FgGreen.Sprint("✓")
	}
	return text.FgRed.Sprint("✗")
}

// plain is a word of the API for people.
func plain(word string) string { return strings.ToLower(strings.ReplaceAll(word, "_", " ")) }

// outcome is how the job ended, or each of a fleet.
func (r Result) outcome() string {
	if r.Fleet > 0 {
		return fmt.Sprintf("%s ×%d", plain(r.Holds.Outcome), r.Fleet)
	}
	return plain(r.Holds.Outcome)
}

// credit is what became of the credit hold.
func (h Holds) credit() string {
	taken := fmt.Sprintf("%d", h.Taken)
	if h.Unit == "FREE_ATTEMPTS" {
		taken = "attempt"
	}
	if h.Captured > 0 && h.Captured < h.Taken {
		return fmt.Sprintf("%d of %s captured", h.Captured, taken)
	}
	return taken + " " + plain(h.Credit)
}

// dollars shows millionths with two decimals, which is all that the scenarios use.
func dollars(micros int64) string {
	return fmt.Sprintf("%d.%02d", micros/1_000_000, micros%1_000_000/10_000)
}
