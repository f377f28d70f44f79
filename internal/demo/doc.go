// Package demo plays every outcome of a generation job against a running service and a fake provider, through the public API, and compares
// what became of the three holds with what it should be, as the API shows it and as the tables do.
//
// A scenario has an account and a provider of its own, so that every number of theirs is the scenario's:
//
//	set up ── steps: reserve ── permit ── POST ── report ── settle, reconcile, kill, freeze … ── read back: API = SQL = wanted?
//
// Its steps are what a worker, a callback, an operator or a chance does. Workers that are killed or frozen are processes of their own.
package demo
