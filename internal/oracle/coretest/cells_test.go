package coretest

import (
	"strings"
	"testing"

	"github.com/settlementd/settlementd/internal/oracle"
)

// TestEveryCell plays every call in every situation, and compares the answer and all that moved with the table.
func TestEveryCell(t *testing.T) {
	t.Parallel()
	table, err := oracle.Read()
	if err != nil {
		t.Fatal(err)
	}
	stages := map[*oracle.Situation]*stage{}
	for _, s := range table.Situations {
		stages[s] = set(t, table, s)
	}
	for _, cell := range table.Cells {
		t.Run(cell.Name(), func(t *testing.T) {
			g := stages[cell.Situation]
			before, after, answer, now := g.play(cell.Call)
			if wrong := cell.Judge(g.terms, before, after, answer, now); len(wrong) > 0 {
				t.Errorf("%s:%d: %s: %s\n\t%s", oracle.PageName, cell.Line, cell.Name(), cell.Answer, strings.Join(wrong, "\n\t"))
			}
		})
	}
	t.Logf("%d cells", len(table.Cells))
}
