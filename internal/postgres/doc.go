// Package postgres is PostgreSQL without our domain: pools, migrations, a transaction with retry, and what its errors mean.
//
// A transaction lives like this:
//
//	begin ── statements ── COMMIT sent ──┬── answer came ───────────── done
//	           │                         └── answer was lost ── Decide ── read the rows again
//	           └── any error: nothing stands
//
// Before COMMIT is sent every error means that nothing happened. After it only the server knows, and [Decide] asks it.
package postgres
