package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

// verifyReport is what verify found.
type verifyReport struct {
	Good       bool             `json:"good"`
	Tenants    []string         `json:"tenants"`
	Invariants []invariantState `json:"invariants"`
	Findings   []finding        `json:"findings"`
}

// invariantState is an invariant with the number of rows, of all tenants, that break it.
type invariantState struct {
	Name     string `json:"name"`
	Sentence string `json:"sentence"`
	Broken   int    `json:"broken"`
}

// finding is a row that breaks an invariant.
type finding struct {
	Tenant    string `json:"tenant"`
	Invariant string `json:"invariant"`
	Where     string `json:"where"`
	Expected  string `json:"expected"`
	Actual    string `json:"actual"`
}

func newVerifyReport(tenants []string, invariants []ledgerdb.Invariant) verifyReport {
	r := verifyReport{Good: true, Tenants: append([]string{}, tenants...), Findings: []finding{}}
	for _, i := range invariants {
		r.Invariants = append(r.Invariants, invariantState{Name: i.Name, Sentence: i.Sentence})
	}
	return r
}

func (r *verifyReport) add(tenant string, f ledgerdb.Finding) {
	r.Good = false
	r.Findings = append(r.Findings, finding{tenant, f.Invariant, f.Where, f.Expected, f.Actual})
	for i := range r.Invariants {
		if r.Invariants[i].Name == f.Invariant {
			r.Invariants[i].Broken++
		}
	}
}

func (r *verifyReport) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// table draws the invariants, below them the rows that break one, and at last a sentence for those who only read that.
func (r *verifyReport) table() string {
	t := newTable("", "invariant", "", "tenants", "broken")
	for _, i := range r.Invariants {
		t.AppendRow(table.Row{tick(i.Broken == 0), i.Name, i.Sentence, len(r.Tenants), i.Broken})
	}
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 3, WidthMax: 60, WidthMaxEnforcer: text.WrapSoft},
		{Number: 4, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight},
	})
	parts := []string{t.Render()}
	if len(r.Findings) > 0 {
		t := newTable("tenant", "invariant", "where", "expected", "actual")
		for _, f := range r.Findings {
			t.AppendRow(table.Row{f.Tenant, f.Invariant, f.Where, f.Expected, f.Actual})
		}
		parts = append(parts, t.Render())
	}
	verdict := "nothing is broken."
	if !r.Good {
		verdict = some(len(r.Findings), "row") + " broken."
	}
	return strings.Join(append(parts, fmt.Sprintf("%s, %s: %s", some(len(r.Tenants), "tenant"), some(len(r.Invariants), "invariant"), verdict)), "\n")
}

// some counts things in words.
func some(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateColumns, t.Style().Options.DrawBorder = false, false
	t.Style().Box.PaddingLeft = ""
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	return t
}

func tick(good bool) string {
	if good {
		return text.FgGreen.Sprint("✓")
	}
	return text.FgRed.Sprint("✗")
}
