package ledgerdb

import "github.com/settlementd/settlementd/internal/postgres"

// eventsOnce is the primary key of the entries.
const eventsOnce = "every_event_happens_once"

// IsEntryConflict tells whether an error says that an event is in the ledger already. The rows that could tell were locked, so this is no
// lost race: the rows contradict each other.
func IsEntryConflict(err error) bool {
	return postgres.Classify(err) == postgres.LostRace && postgres.Constraint(err) == eventsOnce
}
