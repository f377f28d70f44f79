// Package oracle reads the tables of ARCHITECTURE.md that say, for every call in every situation, what it answers and what it
// moves. The tables are written by hand; the tests of the core and of the running service compare each cell with what happens.
//
//	table, err := oracle.Read()
//	for _, cell := range table.Cells {
//	        // build cell.Situation under its Terms by taking its Steps, check that it Stands,
//	        // make cell.Call, compare the answer with cell.Answer
//	        // and the view afterwards with cell.Moves.After(before, now).
//	}
//
// The package knows the words and the shape of the tables, not the rules: it takes no part in deciding what a cell should say.
// It is for tests only and imports nothing of ours.
package oracle
