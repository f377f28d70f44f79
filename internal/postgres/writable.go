package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrReadOnly is returned by Writable when the server answers and would refuse a write.
var ErrReadOnly = errors.New("postgres: the database is read-only: a standby, or a server that was demoted")

// Writable tells whether a write through the pool would be taken now: for readiness. When it finds a read-only server it drops the
// pool's connections, so that the next question goes to whatever server the address leads to by then.
func Writable(ctx context.Context, pool *pgxpool.Pool) error {
	var refused bool
	err := pool.QueryRow(ctx, "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool").Scan(&refused)
	if err != nil {
		return fmt.Errorf("postgres: the database does not answer: %w", err)
	}
	if refused {
		pool.Reset()
		return ErrReadOnly
	}
	return nil
}
