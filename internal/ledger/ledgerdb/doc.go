// Package ledgerdb keeps the ledger in PostgreSQL. It is the only package with SQL on the ledger's tables.
//
// The hot path is two round trips for a batch of one tenant's calls, however many they are, and one more where a reservation is archived:
//
//	Begin   BEGIN → lock reservations, accounts, providers, budgets → read lines, entries, exceptions → the clock
//	          │       (in this order, each set by key: every transaction of ours locks alike. A batch that shares its providers locks them and
//	          │       the budgets last, behind its inserts: beside one that has them locked and inserts the same key, it waits for lock_timeout)
//	        the rules change the book in memory
//	          │
//	Commit  one statement a table for the rows that changed, each proving its own row count → shared counters → COMMIT
//
// COMMIT travels in the same round trip as the writes. A write that fails makes the server skip everything behind it, so an error of a
// statement means that nothing was committed. When the connection breaks instead, nobody knows: that is an [InDoubtError].
//
// [Reader] answers everything that needs no lock, on a pool of its own. [Verify] recomputes every invariant from the rows.
package ledgerdb
