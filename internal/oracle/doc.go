// Package oracle reads the tables of ARCHITECTURE.md that say, for every call in every situation, what it answers and what it
// moves. The tables are written by hand; the tests of the core and of the running service compare each cell with what happens.
//
//	table, err := oracle.Read()
//	for _, cell := range table.Cells {
//	        // build cell.Situation under its Terms by taking its Steps, each said by Situation.Say;
//	        // see what stands, make cell.Call, see what stands now;
//	        // cell.Judge tells every difference.
//	}
//
// The package knows the words and the shape of the tables, not the rules: it takes no part in deciding what a cell should say.
// It is for tests only and imports nothing of ours.
package oracle
