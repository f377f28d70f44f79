package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"google.golang.org/protobuf/types/known/timestamppb"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
)

// newTable starts a table whose columns are aligned and have no lines between them.
func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns, t.Style().Options.DrawBorder = false, false
	t.Style().Box.PaddingLeft = ""
	t.SuppressTrailingSpaces()
	if len(header) > 0 {
		t.AppendHeader(header)
	}
	return t
}

// right aligns columns of numbers.
func right(t table.Writer, columns ...int) {
	var configs []table.ColumnConfig
	for _, n := range columns {
		configs = append(configs, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
}

// facts shows names and values, a pair a line.
func facts(pairs ...string) string {
	t := newTable()
	for i := 0; i+1 < len(pairs); i += 2 {
		t.AppendRow(table.Row{text.Bold.Sprint(pairs[i]), pairs[i+1]})
	}
	return t.Render()
}

// show writes the parts of an answer with a line between them. Empty parts are left out.
func (s *Session) show(parts ...string) error {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	_, err := fmt.Fprintln(s.Out, strings.Join(said, "\n\n"))
	return err
}

// note tells a person something beside the answer.
func (s *Session) note(format string, args ...any) { fmt.Fprintf(s.Notes, format+"\n", args...) }

// good, bad and soso are words in their colours, where there are colours.
func good(s string) string { return text.FgGreen.Sprint(s) }
func bad(s string) string  { return text.FgRed.Sprint(s) }
func soso(s string) string { return text.FgYellow.Sprint(s) }

// moment is a time to the second, which is what people read.
func moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format(time.RFC3339)
}

func money(m *settlementv1.Money) string {
	if m == nil {
		return ""
	}
	return ledger.Micros(m.GetAmountMicros()).Decimal() + " " + m.GetCurrency()
}

// taken is what a reservation took from its account.
func taken(unit settlementv1.Unit, n int64) string {
	if unit == settlementv1.Unit_UNIT_FREE_ATTEMPTS {
		return counted(n, "free attempt")
	}
	return counted(n, "credit")
}

// counted counts things in words.
func counted(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
