// Package coretest plays every cell of the oracle's tables on the core alone: rows in memory, a book opened on them for each call, and what
// the book changed written back. It is all tests; this file gives it a name.
package coretest
