// Package bench measures the whole path on one machine: client, gRPC, lanes, rules, and a PostgreSQL that flushes every commit.
//
// The client is this process, the server a child of it, and PostgreSQL a third family of processes, so that the CPU time of each is its own.
// They share the cores of the machine: what one of them saves, the others can have.
//
//	noop     a health check, which passes everything that a call passes but touches neither lanes nor database: the ceiling
//	single   Reserve and Settle, each in a transaction of its own, on a pool of 16 connections: the plain way, with the same rules
//	lane     Reserve and Settle as the service is run: concurrent calls share transactions
//	batch    BatchReserve and BatchSettle, many items in an RPC
//
// A pair is a Reserve that takes a credit, a slot, a slice of a budget and the permit for a request, and the Settle that captures them at a
// known cost. Every answer is looked at, and a wrong one ends the run. A call is an item of a batch, too; a pair is two calls.
//
// In a closed loop each caller starts its next call when the last is answered, so a server that stalls is asked less, and its worst moments
// are seen once for each caller. In an open loop calls are due by the clock whether or not others were answered, and are timed from when they
// were due, so that a stall shows in all calls that fell into it.
//
// Modes that are compared take turns in short slices, which are added up: what disturbs the machine for a while disturbs them all.
package bench
