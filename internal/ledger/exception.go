package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// ExceptionID names an exception. It is made from what the exception says, so a thousand copies are one row.
type ExceptionID string

// Exception is a fact that could not be applied, kept once for an operator.
type Exception struct {
	ID          ExceptionID
	Reservation ReservationID
	RequestKey  RequestKey // empty where the fact names no line
	Reason      Reason
	Fact        string
	Cost        *Money // what the fact said it cost, if it did
	Observer    Observer
	Count       int64
	FirstSeenAt time.Time
	LastSeenAt  time.Time

	Resolution       Resolution
	ResolutionReason string
	ResolvedAt       time.Time
}

// ExceptionRef names an exception in an answer.
type ExceptionRef struct {
	Reason Reason
	ID     ExceptionID
}

// exceptionID hashes what makes an exception unique within its tenant.
func exceptionID(r ReservationID, key RequestKey, reason Reason, fact string) ExceptionID {
	h := sha256.Sum256([]byte(eventKey(string(r), string(key), string(reason), fact)))
	return ExceptionID("x" + hex.EncodeToString(h[:16]))
}

// file keeps a fact that could not be applied, or counts it once more.
func (b *Book) file(e Exception) ExceptionRef {
	e.ID = exceptionID(e.Reservation, e.RequestKey, e.Reason, e.Fact)
	e.Count, e.FirstSeenAt, e.LastSeenAt = 1, b.Now, b.Now
	b.filed.add(e)
	return ExceptionRef{Reason: e.Reason, ID: e.ID}
}
