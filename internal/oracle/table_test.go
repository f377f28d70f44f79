package oracle_test

import (
	"sync"
	"testing"

	"github.com/settlementd/settlementd/internal/oracle"
)

// read reads the page once for all tests; nobody changes a table.
var read = sync.OnceValues(oracle.Read)

func readTable(t *testing.T) *oracle.Table {
	t.Helper()
	table, err := read()
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
