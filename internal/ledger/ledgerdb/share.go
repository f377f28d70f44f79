package ledgerdb

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/postgres"
)

// errNotShared says that the batch makes a provider or a budget or changes its settings, which takes locks.
var errNotShared = errors.New("ledgerdb: a provider or a budget is new or set, and they are not locked")

// IsRefusedMove tells whether a shared provider or budget had no room any more for what the batch has changed, or was set meanwhile.
func IsRefusedMove(err error) bool {
	return postgres.SQLState(err) == unexpectedRows
}

// unexpectedRows is the SQLSTATE of settlement_expect.
const unexpectedRows = "SD001"

// shared are the providers and budgets of a batch that has not locked them, as it read them.
//
// Every batch of a provider needs its row and its budget's. Locked from the first look to COMMIT, they would have the batches follow one
// another. Instead each batch decides by what it has read, and moves the counters in its last statements: only from then to COMMIT does it
// keep others waiting. Each row was read after the batch's calls had come, so what it granted by it could have been granted there and then.
// Where the batch takes more than it gives back, the statements ask whether there is room still; where it does not, the counters end no
// higher than they would without it.
type shared struct {
	providers map[ledger.ProviderID]ledger.Provider
	budgets   map[ledger.BudgetKey]ledger.Budget
}

func newShared(rows *ledger.Rows) *shared {
	s := &shared{
		providers: make(map[ledger.ProviderID]ledger.Provider, len(rows.Providers)),
		budgets:   make(map[ledger.BudgetKey]ledger.Budget, len(rows.Budgets)),
	}
	for _, p := range rows.Providers {
		s.providers[p.ID] = p
	}
	for _, b := range rows.Budgets {
		s.budgets[b.Key] = b
	}
	return s
}

// allows tells whether the changes can be written without locks on providers and budgets.
func (s *shared) allows(c *ledger.Changes) error {
	made := len(c.Providers.Inserted) + len(c.Budgets.Inserted)
	set := slices.ContainsFunc(c.Providers.Updated, func(p ledger.Provider) bool {
		was := s.providers[p.ID]
		was.InFlight, was.UncertainInFlight = p.InFlight, p.UncertainInFlight
		return was != p
	}) || slices.ContainsFunc(c.Budgets.Updated, func(b ledger.Budget) bool { return s.budgets[b.Key].Limit != b.Limit })
	if made > 0 || set {
		return errNotShared
	}
	return nil
}

// queueMoves adds the statements that move the counters of the providers and budgets that have changed.
func (s *shared) queueMoves(b *pgx.Batch, tenant string, c *ledger.Changes) {
	providers.queueMove(b, tenant, array(c.Providers.Updated, func(p *ledger.Provider) ledger.Provider {
		was, moved := s.providers[p.ID], *p
		moved.InFlight -= was.InFlight
		moved.UncertainInFlight -= was.UncertainInFlight
		return moved
	}))
	budgets.queueMove(b, tenant, array(c.Budgets.Updated, func(x *ledger.Budget) ledger.Budget {
		was, moved := s.budgets[x.Key], *x
		moved.Held -= was.Held
		moved.Spent -= was.Spent
		return moved
	}))
}
