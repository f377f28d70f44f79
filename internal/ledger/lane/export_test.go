package lane

import "github.com/settlementd/settlementd/internal/ledger"

// Queued is how many calls wait in a tenant's lane.
func (l *Lanes) Queued(tenant ledger.TenantID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ln, ok := l.lanes[key{tenant: tenant}]; ok {
		return len(ln.queue)
	}
	return 0
}
