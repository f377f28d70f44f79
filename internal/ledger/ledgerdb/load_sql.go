package ledgerdb

// lockStatements lock rows for one kind of patience. FOR NO KEY UPDATE, because a foreign-key check of a new row beside it would have to
// wait for FOR UPDATE.
type lockStatements struct {
	reservations, accounts, providers, budgets string
}

const (
	waiting  = " FOR NO KEY UPDATE OF t"
	skipping = " FOR NO KEY UPDATE OF t SKIP LOCKED"
)

func lockStatementsFor(p Patience) lockStatements {
	switch p {
	case SkipLockedAccounts:
		return locksSkippingAccounts
	case SkipLocked:
		return locksSkipping
	default:
		return locksWaiting
	}
}

var (
	locksSkippingAccounts = lockStatements{lockReservations + skipping, lockAccounts + skipping, lockProviders + waiting, lockBudgets + waiting}
	locksSkipping         = lockStatements{lockReservations + skipping, lockAccounts + skipping, lockProviders + skipping, lockBudgets + skipping}
	locksWaiting          = lockStatements{lockReservations + waiting, lockAccounts + waiting, lockProviders + waiting, lockBudgets + waiting}
)

// currentPeriods are the budget rows that named providers use now. A period that ends between this and the clock is found out by the
// insert of a row that stands already: a lost race.
func currentPeriods(providerIDs string) string {
	return `SELECT p.provider_id, settlement_period_start(p.budget_period, p.time_zone, c.now)
		FROM providers p, (SELECT settlement_now() AS now) c
		WHERE p.tenant_id = $1 AND p.provider_id = ANY (` + providerIDs + `::text[])`
}

var (
	lockReservations = "SELECT " + reservations.columns("t") + ` FROM reservations t
	WHERE t.tenant_id = $1 AND t.reservation_id = ANY ($2::text[])
	ORDER BY t.reservation_id`

	lockAccounts = "SELECT " + accounts.columns("t") + ` FROM accounts t
	WHERE t.tenant_id = $1 AND t.account_id = ANY (ARRAY(
		SELECT unnest($3::text[])
		UNION SELECT r.account_id FROM reservations r WHERE r.tenant_id = $1 AND r.reservation_id = ANY ($2::text[])))
	ORDER BY t.account_id`

	lockProviders = "SELECT " + providers.columns("t") + ` FROM providers t
	WHERE t.tenant_id = $1 AND t.provider_id = ANY (ARRAY(
		SELECT unnest($3::text[])
		UNION SELECT r.provider_id FROM reservations r WHERE r.tenant_id = $1 AND r.reservation_id = ANY ($2::text[])))
	ORDER BY t.provider_id`

	lockBudgets = "SELECT " + budgets.columns("t") + ` FROM (
		SELECT r.provider_id, r.period_start FROM reservations r WHERE r.tenant_id = $1 AND r.reservation_id = ANY ($2::text[])
		UNION ` + currentPeriods("$3") + `) k (provider_id, period_start)
	JOIN budgets t ON t.tenant_id = $1 AND t.provider_id = k.provider_id AND t.period_start = k.period_start
	ORDER BY t.provider_id, t.period_start`

	lockExceptions = "SELECT " + exceptions.columns("t") + ` FROM exceptions t
	WHERE t.tenant_id = $1 AND t.exception_id = ANY ($2::text[])
	ORDER BY t.exception_id` + waiting

	readLines = "SELECT " + lines.columns("t") + ` FROM lines t WHERE t.tenant_id = $1 AND t.reservation_id = ANY ($2::text[])
	UNION ALL SELECT ` + lines.columns("t") + ` FROM lines t WHERE t.tenant_id = $1 AND t.request_key = ANY ($3::text[])
	UNION ALL SELECT ` + lines.columns("t") + ` FROM lines t WHERE t.tenant_id = $1 AND t.provider_task_id = ANY ($4::text[])`

	readEntries = "SELECT " + entryColumns + " FROM entries t WHERE t.tenant_id = $1 AND t.event_key = ANY ($2::text[])"
)

const readClock = `
	WITH clock AS MATERIALIZED (SELECT settlement_now() AS now, pg_current_xact_id() AS xid)
	SELECT c.now, c.xid, EXISTS (SELECT FROM tenants WHERE tenant_id = $1),
		p.provider_id, settlement_period_start(p.budget_period, p.time_zone, c.now)
	FROM clock c LEFT JOIN providers p ON p.tenant_id = $1 AND p.provider_id = ANY ($2::text[])`

// These look without a lock at what a batch asked for: what exists and was not locked is blocked.
var (
	presentAccounts = `SELECT 'account', a.account_id, NULL::text, NULL::timestamptz FROM accounts a
	WHERE a.tenant_id = $1 AND a.account_id = ANY ($3::text[])
	UNION ALL SELECT 'reservation', r.reservation_id, r.account_id, NULL FROM reservations r
	WHERE r.tenant_id = $1 AND r.reservation_id = ANY ($2::text[])`

	presentProviders = `SELECT 'provider', p.provider_id, NULL::text, NULL::timestamptz FROM providers p
	WHERE p.tenant_id = $1 AND p.provider_id = ANY ($2::text[])
	UNION ALL SELECT 'budget', b.provider_id, NULL, b.period_start
	FROM (` + currentPeriods("$2") + `) k (provider_id, period_start)
	JOIN budgets b ON b.tenant_id = $1 AND b.provider_id = k.provider_id AND b.period_start = k.period_start`
)
