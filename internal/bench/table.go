package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table draws the report for people. What it comes to stands last.
func (r *Report) Table() string {
	parts := []string{r.Machine.line(), r.points()}
	if r.Machine.Folder == "tmpfs" || r.Machine.Folder == "ramfs" || !r.Machine.Fsync {
		parts = append(parts, "No commit waited for a disk: take the throughputs for what a machine without one could do.")
	}
	parts = append(parts, "Times are milliseconds of an RPC; CPU is microseconds of a call, by client, server and PostgreSQL.")
	if r.Commit.Commits > 0 {
		parts = append(parts, fmt.Sprintf("A one-row commit of PostgreSQL takes %.3f ms (p50) and %.3f ms (p99).", r.Commit.P50, r.Commit.P99))
	}
	for _, g := range r.Growth {
		parts = append(parts, fmt.Sprintf("%s with %s over %d: %.2f of the throughput", g.Mode, counted(g.To, "reservation"), g.From, g.Ratio))
	}
	if o := r.OldSnapshot; o != nil {
		parts = append(parts, fmt.Sprintf("An old snapshot held for %.0f s: %.0f calls/s in the first tenth, %.0f in the last, %.2f of it.",
			o.Seconds, o.FirstTenth, o.LastTenth, o.Ratio))
	}
	verdict := "verify: nothing is broken."
	if !r.Ledger.Good {
		verdict = fmt.Sprintf("verify: %s broken:\n%s", counted(int64(len(r.Ledger.Findings)), "row"), strings.Join(r.Ledger.Findings, "\n"))
	}
	parts = append(parts, fmt.Sprintf("The run took %.0f s. %s", r.Seconds, verdict))
	if r.Ratios != (Ratios{}) {
		parts = append(parts, r.Ratios.table())
	}
	return strings.Join(parts, "\n")
}

func (m Machine) line() string {
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(m.Settings)) {
		settings = append(settings, name+"="+m.Settings[name])
	}
	fsync := "off"
	if m.Fsync {
		fsync = "on"
	}
	return fmt.Sprintf("%d × %s, %s, %s\nPostgreSQL %s on %s, fsync=%s %s", m.Cores, m.CPU, m.Kernel, m.Go, m.Postgres, m.Folder, fsync, strings.Join(settings, " "))
}

func (r *Report) points() string {
	header := table.Row{"mode", "callers", "budgets", "accounts", "tenants", "conns", "existing", "calls/s", "pairs/s", "p50", "p99", "p99.9",
		"CPU", "client", "server", "pg", "tx/call", "WAL B", "allocs", "alloc B", "RSS MiB"}
	t := newTable(header)
	var right []table.ColumnConfig
	for i := range header[1:] {
		right = append(right, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(right)
	for _, p := range r.Points {
		t.AppendRow(p.row())
	}
	return t.Render()
}

func (p Point) row() table.Row {
	callers, pairs := fmt.Sprint(p.Callers), fmt.Sprintf("%.0f", p.PairsPerSecond)
	switch {
	case p.Rate > 0:
		callers = fmt.Sprintf("%.0f/s due, %d late", p.Rate, p.LateStarts)
	case p.ItemsPerRPC > 1:
		callers += fmt.Sprintf(" (%d × %d)", p.RPCsInFlight, p.ItemsPerRPC)
	}
	if p.Mode == Noop {
		pairs = ""
	}
	number := func(v float64, digits int) string { return fmt.Sprintf("%.*f", digits, v) }
	return table.Row{
		p.Mode, callers, p.Budgets, p.Accounts, p.Tenants, p.Connections, p.Existing, number(p.CallsPerSecond, 0), pairs,
		number(p.P50, 2), number(p.P99, 2), number(p.P999, 2),
		number(p.CPU.Client+p.CPU.Server+p.CPU.Postgres, 1), number(p.CPU.Client, 1), number(p.CPU.Server, 1), number(p.CPU.Postgres, 1),
		number(p.Transactions, 3), number(p.WALBytes, 0), number(p.Allocations, 0), number(p.AllocatedBytes, 0), number(p.PeakRSS, 0),
	}
}

func (r Ratios) table() string {
	t := newTable(table.Row{"ratio", ""})
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, Align: text.AlignRight}})
	for _, of := range []struct {
		name  string
		value *float64
	}{
		{"lane_over_noop", r.LaneOverNoop}, {"lane_over_single", r.LaneOverSingle}, {"batch_over_noop", r.BatchOverNoop},
		{"lone_over_commit", r.LoneOverCommit}, {"p99_over_p50_at_half_load", r.P99OverP50}, {"server_peak_rss_mib_at_1024", r.PeakRSSAt1024},
	} {
		if of.value != nil {
			t.AppendRow(table.Row{of.name, fmt.Sprintf("%.3f", *of.value)})
		}
	}
	return t.Render()
}

// counted counts things in words.
func counted(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func newTable(header table.Row) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns, t.Style().Options.DrawBorder = false, false
	t.Style().Box.PaddingLeft = ""
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	return t
}
