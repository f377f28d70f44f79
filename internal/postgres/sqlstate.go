package postgres

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// Class is what an error of the database asks of whoever meets it.
type Class int

// The classes of errors. Whatever the class, an error that comes before COMMIT was sent leaves nothing behind.
const (
	None             Class = iota // no error
	Data                          // this content cannot be written, or a fault of ours: trying again does not help
	LostRace                      // another transaction wrote the same key first: load again and see the winner
	Retryable                     // serialization failure, deadlock, a stale plan: run the transaction again
	LockTimeout                   // somebody holds the row: later
	StatementTimeout              // a statement was cut off by its time limit: later
	Unavailable                   // the database is away, going away, full or read-only: later, on another connection
	CallerLeft                    // the caller's context ended; nobody waits for an answer
)

// String names the class in lower case.
func (c Class) String() string {
	names := [...]string{"none", "data", "lost_race", "retryable", "lock_timeout", "statement_timeout", "unavailable", "caller_left"}
	if c < 0 || int(c) >= len(names) {
		return "unknown"
	}
	return names[c]
}

const readOnly = "25006"

// classes is the one table of SQLSTATEs: a whole code, or the two characters of its class. What is not here is Data.
var classes = map[string]Class{
	"23505":  LostRace,         // unique_violation
	"40001":  Retryable,        // serialization_failure
	"40P01":  Retryable,        // deadlock_detected
	"26000":  Retryable,        // a prepared statement that the connection no longer has
	"55P03":  LockTimeout,      // lock_not_available
	"57014":  StatementTimeout, // query_canceled
	"25P04":  StatementTimeout, // transaction_timeout
	readOnly: Unavailable,      // read_only_sql_transaction
	"25P03":  Unavailable,      // idle_in_transaction_session_timeout
	"57P01":  Unavailable,      // admin_shutdown
	"57P02":  Unavailable,      // crash_shutdown
	"57P03":  Unavailable,      // cannot_connect_now
	"57P05":  Unavailable,      // idle_session_timeout
	"08":     Unavailable,      // connection exceptions
	"53":     Unavailable,      // insufficient resources: disk, memory, connections
	"58":     Unavailable,      // the server's operating system
}

// Classify tells what an error from pgx means. It never says LostRace, Retryable or Data of a failed connection.
func Classify(err error) Class {
	if err == nil {
		return None
	}
	var lost *LostCommit
	if errors.As(err, &lost) {
		return Unavailable
	}
	// A refused connection may wrap any SQLSTATE, and the deadline of the attempt, which is not the caller's.
	var refused *pgconn.ConnectError
	if errors.As(err, &refused) {
		return Unavailable
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return classOf(pg)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return CallerLeft
	}
	if disconnected(err) {
		return Unavailable
	}
	return Data
}

func classOf(e *pgconn.PgError) Class {
	// A migration changed a table under a prepared statement; pgx has forgotten the statement by now.
	if e.Code == "0A000" && e.Routine == "RevalidateCachedQuery" {
		return Retryable
	}
	if c, ok := classes[e.Code]; ok {
		return c
	}
	if len(e.Code) == 5 {
		if c, ok := classes[e.Code[:2]]; ok {
			return c
		}
	}
	return Data
}

func disconnected(err error) bool {
	var network net.Error
	return errors.As(err, &network) ||
		errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, puddle.ErrClosedPool) ||
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF)
}

// SQLState returns the five characters of the server's error, or "" when the error is not one of the server.
func SQLState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// Constraint returns the name of the constraint that an error says was broken, or "".
func Constraint(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.ConstraintName
	}
	return ""
}
