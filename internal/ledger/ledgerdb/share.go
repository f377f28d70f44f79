package ledgerdb

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

// errNotShared says that the batch makes a provider or a budget, which takes locks.
var errNotShared = errors.New("ledgerdb: a provider or a budget is new, and they are not locked")

// shared are the providers and budgets of a batch that has not locked them, as it read them.
//
// Every batch of a provider needs its row and its budget's. Locked from the first look to COMMIT, they would have the batches follow one
// another. Instead each batch decides by what it has read, and moves the counters in its last statements: only from then to COMMIT does it
// keep others waiting. What it read is one moment of the ledger, and it was so after its calls had come. So each of its answers is one that
// they could have got there and then, as long as the statements find that there is room still.
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
	if len(c.Providers.Inserted)+len(c.Budgets.Inserted) > 0 {
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
