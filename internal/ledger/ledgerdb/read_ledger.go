package ledgerdb

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

// units are the units of an account's two balances. The movements of each are looked up apart: of one that hardly ever moves nobody reads
// through the other's.
const units = "(VALUES ('CREDITS'), ('FREE_ATTEMPTS')) u (unit)"

var ledgerSQL = "SELECT " + entryColumns + " FROM " + units + ` CROSS JOIN LATERAL (
		SELECT t.* FROM entries t
		WHERE t.tenant_id = $1 AND t.account_id = $2 AND t.unit = u.unit AND t.unit IS NOT NULL AND t.entry_id > $3
		ORDER BY t.entry_id LIMIT $4) t
	ORDER BY t.entry_id LIMIT $4`

// Ledger returns a page of an account's movements after an entry, in the order in which they happened.
func (r *Reader) Ledger(ctx context.Context, tenant ledger.TenantID, account ledger.AccountID, after int64, size int) ([]ledger.Entry, error) {
	found, err := list(ctx, r, tenant, collectEntries, ledgerSQL, string(tenant), string(account), after, size)
	if err == nil && len(found) == 0 {
		_, err = r.Account(ctx, tenant, account)
	}
	return found, err
}

// Entry returns the entry under an event key.
func (r *Reader) Entry(ctx context.Context, tenant ledger.TenantID, eventKey string) (ledger.Entry, error) {
	found, err := list(ctx, r, tenant, collectEntries, readEntries, string(tenant), []string{eventKey})
	if err == nil && len(found) == 0 {
		err = missing("", "entry %s", eventKey)
	}
	if err != nil {
		return ledger.Entry{}, err
	}
	return found[0], nil
}

// AccountBalances are an account's balances of both units, and the last entry that they count.
type AccountBalances struct {
	Credits      ledger.Balance
	FreeAttempts ledger.Balance
	Entry        int64
}

const balanceSQL = `SELECT u.unit, coalesce(e.entry_id, 0), coalesce(e.available_after, 0), coalesce(e.held_after, 0)
	FROM accounts a CROSS JOIN ` + units + `
	LEFT JOIN LATERAL (
		SELECT t.entry_id, t.available_after, t.held_after FROM entries t
		WHERE t.tenant_id = $1 AND t.account_id = $2 AND t.unit = u.unit AND t.unit IS NOT NULL AND t.entry_id <= $3
		ORDER BY t.entry_id DESC LIMIT 1) e ON true
	WHERE a.tenant_id = $1 AND a.account_id = $2`

// BalanceAsOf returns an account's balances right after an entry, from the ledger alone.
func (r *Reader) BalanceAsOf(ctx context.Context, tenant ledger.TenantID, account ledger.AccountID, entry int64) (AccountBalances, error) {
	type balance struct {
		unit  ledger.Unit
		entry int64
		ledger.Balance
	}
	collect := func(rows pgx.Rows) ([]balance, error) {
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (b balance, err error) {
			return b, row.Scan((*string)(&b.unit), &b.entry, &b.Available, &b.Held)
		})
	}
	found, err := list(ctx, r, tenant, collect, balanceSQL, string(tenant), string(account), entry)
	if err != nil {
		return AccountBalances{}, err
	}
	if len(found) == 0 {
		return AccountBalances{}, missing("account_id", "account %s", account)
	}
	var balances AccountBalances
	for _, b := range found {
		balances.Entry = max(balances.Entry, b.entry)
		if b.unit == ledger.FreeAttempts {
			balances.FreeAttempts = b.Balance
		} else {
			balances.Credits = b.Balance
		}
	}
	return balances, nil
}

// ExceptionFilter narrows a list of exceptions. Its zero value takes all of a tenant.
type ExceptionFilter struct {
	Reservation ledger.ReservationID
	Reasons     []ledger.Reason // any of them
	Open        bool            // not resolved yet
}

// Exceptions returns a page of a tenant's exceptions, the first seen first. The next page starts after the last one's FirstSeenAt and ID.
func (r *Reader) Exceptions(ctx context.Context, tenant ledger.TenantID, f ExceptionFilter, p Page) ([]ledger.Exception, error) {
	c := ofTenant(tenant)
	if f.Reservation != "" {
		c.add("t.reservation_id = %s", string(f.Reservation))
	}
	if len(f.Reasons) > 0 {
		c.add("t.reason = ANY (%s::text[])", sorted(f.Reasons))
	}
	if f.Open {
		c.add("t.resolution IS NULL")
	}
	c.after("t.first_seen_at", "t.exception_id", p.After)
	limit := c.arg(p.Size)
	sql := fmt.Sprintf("SELECT %s FROM exceptions t WHERE %s ORDER BY t.first_seen_at, t.exception_id LIMIT %s", exceptions.columns("t"), c, limit)
	return list(ctx, r, tenant, collectExceptions, sql, c.args...)
}

// Exception returns an exception.
func (r *Reader) Exception(ctx context.Context, tenant ledger.TenantID, id ledger.ExceptionID) (ledger.Exception, error) {
	row, err := one(ctx, r, exceptions, missing("exception_id", "exception %s", id),
		"SELECT "+exceptions.columns("t")+" FROM exceptions t WHERE t.tenant_id = $1 AND t.exception_id = $2", string(tenant), string(id))
	return row.exception(), err
}

func collectExceptions(rows pgx.Rows) ([]ledger.Exception, error) {
	found, err := exceptions.collect(rows)
	return array(found, (*exceptionRow).exception), err
}
