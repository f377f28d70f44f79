package ledgerdb

import (
	"fmt"
	"strings"
)

// lockStatements lock rows for one kind of patience. FOR NO KEY UPDATE, because a foreign-key check of a new row beside it would have to
// wait for FOR UPDATE.
type lockStatements struct {
	reservations, everywhere     string // of one table, and of the archive too
	accounts, providers, budgets string
}

const (
	unlocked = ""
	waiting  = " FOR NO KEY UPDATE"
	skipping = " FOR NO KEY UPDATE SKIP LOCKED"
)

func lockStatementsFor(p Patience) lockStatements {
	switch p {
	case SkipLockedAccounts:
		return locksSkippingAccounts
	case ShareProviders:
		return locksSharing
	case SkipLocked:
		return locksSkipping
	default:
		return locksWaiting
	}
}

var (
	locksSkippingAccounts = newLockStatements(skipping, waiting)
	locksSharing          = newLockStatements(skipping, unlocked)
	locksSkipping         = newLockStatements(skipping, skipping)
	locksWaiting          = newLockStatements(waiting, waiting)
)

func newLockStatements(customers, providers string) lockStatements {
	return lockStatements{
		lockReservations(customers), lockEverywhere(customers), lockAccounts(customers), lockProviders(providers), lockBudgets(providers),
	}
}

// each reads, and perhaps locks, the rows of a table for a set of keys k: one look-up of the whole primary key a row, in the order of the
// keys. It leaves the planner no other way. Given a list of keys to compare with, it would read all of a tenant's rows for as long as it
// believes that these are few, which is what it believes of every table that was empty a minute ago.
func each(columns, keys, table, match, lock string) string {
	return "SELECT " + columns + " FROM " + keys + " CROSS JOIN LATERAL (SELECT r.*, r.ctid AS place FROM " + table + " r WHERE r.tenant_id = $1 AND " + match +
		" OFFSET 0" + lock + ") t"
}

// keysOf are the elements of an array argument as keys.
func keysOf(argument string) string { return "unnest(" + argument + "::text[]) k (id)" }

// inOrder are the ids of a statement in the order of bytes, in which everybody locks, whatever the collation of the database.
func inOrder(ids string) string {
	return "(SELECT id FROM (" + ids + `) s (id) ORDER BY id COLLATE "C") k (id)`
}

// remembered are the parts of a setting of this transaction that the locking of the reservations has left. No id contains a space.
func remembered(what string) string {
	return "unnest(string_to_array(current_setting('settlementd." + what + "', true), ' '))"
}

// remember keeps which reservations are locked, and what they name, for the statements behind it in the same round trip: these need not look
// every reservation up again. It is always true.
func remember(locked string) string {
	keep := func(what, value, from string) string {
		return fmt.Sprintf("set_config('settlementd.%s', (SELECT coalesce(string_agg(%s, ' '), '') FROM %s), true)", what, value, from)
	}
	return "(SELECT num_nulls(" + strings.Join([]string{
		keep("reservations", "reservation_id", locked), keep("accounts", "account_id", locked),
		keep("budgets", "provider_id || ' ' || (to_json(period_start) #>> '{}')", "(SELECT DISTINCT provider_id, period_start FROM "+locked+") b"),
	}, ", ") + ")) = 0"
}

// rememberedBudgets are provider and period of each of the budgets that the locking of the reservations has left.
const rememberedBudgets = "SELECT part[n], part[n + 1]::timestamptz FROM (SELECT string_to_array(current_setting('settlementd.budgets'), ' ')) s (part)," +
	" generate_series(1, cardinality(part), 2) n"

// currentPeriods are the budget rows that named providers use now. A period that ends between this and the clock is found out by the
// insert of a row that stands already: a lost race.
func currentPeriods(providerIDs string) string {
	return "SELECT p.provider_id, settlement_period_start(p.budget_period, p.time_zone, c.now) FROM (SELECT settlement_now() AS now) c, (" +
		each("t.provider_id, t.budget_period, t.time_zone", keysOf(providerIDs), "providers", "r.provider_id = k.id", "") + ") p"
}

// anyArchived is asked once a statement: a tenant that has archived nothing is spared the look-ups.
const anyArchived = "(SELECT EXISTS (SELECT FROM archived_reservations WHERE tenant_id = $1))"

// lockReservations locks those that are not archived.
func lockReservations(how string) string {
	return "WITH locked AS MATERIALIZED (" + lockHot(how) + ") SELECT * FROM locked WHERE " + remember("locked")
}

// lockEverywhere locks first those that are not archived, and then looks for the others in the archive. It sees one moment: one that is moved
// there while it is waited for is in neither place. What looks afterwards for what exists finds it, and its call looks again.
func lockEverywhere(how string) string {
	rest := inOrder("SELECT unnest($2::text[]) EXCEPT SELECT reservation_id FROM hot")
	return "WITH hot AS MATERIALIZED (" + lockHot(how) + ")" +
		", cold AS MATERIALIZED (" + each(archived.located("t")+", true", rest, "archived_reservations", "r.reservation_id = k.id", how) + " WHERE " + anyArchived + ")" +
		", locked AS NOT MATERIALIZED (SELECT * FROM hot UNION ALL SELECT * FROM cold)" +
		" SELECT * FROM locked WHERE " + remember("locked")
}

func lockHot(how string) string {
	return each(reservations.located("t")+", false AS archived", keysOf("$2"), "reservations", "r.reservation_id = k.id", how)
}

func lockAccounts(how string) string {
	return each(accounts.located("t"), inOrder("SELECT unnest($2::text[]) UNION SELECT "+remembered("accounts")),
		"accounts", "r.account_id = k.id", how)
}

func lockProviders(how string) string {
	return each(providers.located("t"), inOrder("SELECT unnest($2::text[]) UNION SELECT provider_id FROM ("+rememberedBudgets+") b (provider_id)"),
		"providers", "r.provider_id = k.id", how)
}

func lockBudgets(how string) string {
	keys := "(SELECT * FROM (" + rememberedBudgets + " UNION " + currentPeriods("$2") + ") s (provider_id, period_start)" +
		` ORDER BY provider_id COLLATE "C", period_start) k (provider_id, period_start)`
	return each(budgets.located("t"), keys, "budgets", "r.provider_id = k.provider_id AND r.period_start = k.period_start", how)
}

// ofAnyReservation is true of every line, and what the index of lines by reservation asks for: no other statement is led to that index.
const ofAnyReservation = "reservation_id >= ''"

// linesBy read lines by one set of keys each.
var linesBy = [...]string{
	each(lines.located("t"), keysOf("$2"), "lines", "r.reservation_id = k.id AND r."+ofAnyReservation, ""),
	each(lines.located("t"), keysOf("$2"), "lines", "r.request_key = k.id", ""),
	each(lines.located("t"), keysOf("$2"), "lines", "r.provider_task_id = k.id", ""),
}

var (
	readEntries = each(entryColumns, keysOf("$2"), "entries", "r.event_key = k.id", "")

	readExceptions = each(exceptions.located("t"), keysOf("$2"), "exceptions", "r.exception_id = k.id", "")
)

// The look at the end of a round trip reads, without a lock, what the locks protect from nobody: the clock, and which rows exist whoever has
// them locked. What exists and was not locked is blocked. A row of it is a kind, an id, perhaps an account, and perhaps a time.
var (
	look             = lookSQL()
	lookForProviders = lookSQL(presentProviders, presentBudgets)
)

func lookSQL(more ...string) string {
	return `WITH clock AS MATERIALIZED (SELECT settlement_now() AS now, pg_current_xact_id()::text AS xid)
		SELECT 'clock', xid, NULL::text, now FROM clock
		UNION ALL SELECT 'tenant', tenant_id, NULL, NULL FROM tenants WHERE tenant_id = $1
		UNION ALL ` + strings.Join(append([]string{periods, presentReservations}, more...), " UNION ALL ")
}

var (
	// periods start for each named provider as of the clock.
	periods = "SELECT 'period', p.provider_id, NULL, settlement_period_start(p.budget_period, p.time_zone, c.now) FROM clock c CROSS JOIN (" +
		each("t.provider_id, t.budget_period, t.time_zone", keysOf("$3"), "providers", "r.provider_id = k.id", "") + ") p"

	// At any one moment a reservation is in one of its two tables.
	presentReservations = "SELECT t.kind, k.id, t.account_id, NULL FROM (SELECT unnest($2::text[]) EXCEPT SELECT " +
		remembered("reservations") + ") k (id) CROSS JOIN LATERAL (" +
		"SELECT 'reservation' AS kind, account_id FROM reservations WHERE tenant_id = $1 AND reservation_id = k.id" +
		" UNION ALL SELECT 'archived', account_id FROM archived_reservations WHERE tenant_id = $1 AND reservation_id = k.id AND " + anyArchived + " OFFSET 0) t"

	presentProviders = each("'provider', t.provider_id, NULL, NULL", keysOf("$3"), "providers", "r.provider_id = k.id", "")

	presentBudgets = each("'budget', t.provider_id, NULL, t.period_start", "("+currentPeriods("$3")+") k (provider_id, period_start)",
		"budgets", "r.provider_id = k.provider_id AND r.period_start = k.period_start", "")

	// presentAccounts is asked only where an account is missing, which is rare.
	presentAccounts = each("'account', t.account_id, NULL::text, NULL::timestamptz", keysOf("$2"), "accounts", "r.account_id = k.id", "")
)
