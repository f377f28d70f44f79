// Package ledger is the core: the words of the service and every rule about money, permits and knowledge. It works on a [Book] of rows that
// somebody else has locked and loaded, changes them in memory, and says what changed. It does no I/O, has no clock and no goroutine, so that
// the same rows and the same call always give the same answer.
//
// What is known of a line only grows:
//
//	PERMITTED ──► UNCERTAIN ──► ACCEPTED ──► SUCCEEDED | FAILED
//	    └─────────────┴──► NOT_SENT | NOT_ACCEPTED | NOT_RECEIVED | SUCCEEDED | FAILED
//
// After a resend NOT_SENT and NOT_ACCEPTED no longer follow: they are said of one POST.
//
// The open states of a reservation follow from its lines, the others are for ever:
//
//	PENDING ◄──► PROCESSING ◄──► UNCERTAIN        no generation alive │ permitted, accepted or succeeded │ perhaps submitted
//	   └─────────────┴───────────────┴──► COMPLETED | FAILED | REJECTED | CANCELLED | EXPIRED
//
// Each of the three holds has a life of its own. The customer's two end with the reservation, at once; the budget's ends when every cost is
// known:
//
//	credit  HELD ──► CAPTURED | RETURNED
//	slot    HELD ──► RELEASED
//	budget  HELD ──► ENDED
//
// A call is a function from the book and a request to an answer. Its path is always the same: expiry if it is due, replay, refusals in a
// documented order, and then the change, of which nothing can fail any more: see change.commit for what every change implies.
package ledger
