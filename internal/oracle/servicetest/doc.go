// Package servicetest plays every cell of the oracle's tables on the running service: real calls on a real database, thousands of
// reservations side by side. It is all tests; this file gives it a name.
package servicetest
