package oracle_test

import (
	"testing"

	"github.com/settlementd/settlementd/internal/oracle"
)

func readTable(t *testing.T) *oracle.Table {
	t.Helper()
	table, err := oracle.Read()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestPage reads the page itself: every call has a cell in every situation of its chapter, and no word is unknown.
func TestPage(t *testing.T) {
	t.Parallel()
	table := readTable(t)
	t.Logf("%d situations, %d calls, %d cells", len(table.Situations), len(table.Calls), len(table.Cells))
}
