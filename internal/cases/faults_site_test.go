package cases_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// site is a service with an account and a provider, and with what breaks the database under it.
type site struct {
	*apptest.Service
	t *testing.T
}

func newSite(t *testing.T, change ...func(*app.Config)) *site {
	t.Helper()
	x := &site{apptest.New(t, change...), t}
	x.Seed(t)
	return x
}

// replica is one more server on the same database.
func (x *site) replica(change ...func(*app.Config)) *site {
	x.t.Helper()
	return &site{apptest.On(x.t, x.DB, change...), x.t}
}

// behindProxy is one more server, which reaches the database through a proxy.
func (x *site) behindProxy(change ...func(*app.Config)) (*site, *postgrestest.Proxy) {
	x.t.Helper()
	proxy := postgrestest.NewProxy(x.t, x.DB)
	return x.replica(append(change, func(c *app.Config) { c.Database = proxy.ServiceDSN() })...), proxy
}

// fault makes the database act before each row of an event ("INSERT ON entries") that fulfils a condition. The counter lets it act a
// number of times only: it counts through rollbacks. An action that waits for a lock is cut off by the time limit of its statement alone.
func (x *site) fault(event, condition, action string) {
	x.t.Helper()
	x.DB.Exec(fmt.Sprintf(`CREATE SEQUENCE IF NOT EXISTS faults;
		GRANT USAGE ON faults TO settlementd_service;
		CREATE OR REPLACE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$
		BEGIN
			IF %s THEN %s; END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER fault BEFORE %s FOR EACH ROW EXECUTE FUNCTION fault()`, condition, action, event))
}

// mend takes every fault away.
func (x *site) mend() {
	x.t.Helper()
	x.DB.Exec("DROP FUNCTION IF EXISTS fault CASCADE; DROP SEQUENCE IF EXISTS faults")
}

// The first acts of a fault.
const (
	always = "true"
	once   = "nextval('faults') = 1"
	twice  = "nextval('faults') <= 2"
)

// raise ends the statement with an error.
func raise(code string) string {
	return "RAISE EXCEPTION 'a fault of the test' USING ERRCODE = '" + code + "'"
}

// holder is a session that is none of ours and keeps locks.
type holder struct {
	t    *testing.T
	conn *pgx.Conn
}

// hold takes locks by a query, and keeps them until the test releases them.
func (x *site) hold(query string, args ...any) *holder {
	x.t.Helper()
	conn, err := pgx.Connect(x.t.Context(), x.DB.OwnerDSN())
	if err != nil {
		x.t.Fatal(err)
	}
	h := &holder{x.t, conn}
	x.t.Cleanup(h.release)
	h.exec("BEGIN")
	h.exec(query, args...)
	return h
}

func (h *holder) exec(sql string, args ...any) {
	h.t.Helper()
	if _, err := h.conn.Exec(h.t.Context(), sql, args...); err != nil {
		h.t.Fatal(err)
	}
}

// release ends the session, and with it its locks.
func (h *holder) release() { _ = h.conn.Close(context.Background()) }

const (
	theAccount  = "SELECT FROM accounts WHERE account_id = 'alice' FOR UPDATE"
	theProvider = "SELECT FROM providers FOR UPDATE"
	theBudget   = "SELECT FROM budgets FOR UPDATE"
)

// untilBlocked returns when so many sessions of the service wait for locks.
func (x *site) untilBlocked(n int) {
	x.t.Helper()
	postgrestest.Until(x.t, fmt.Sprintf("%d sessions wait for a lock", n), func() bool {
		return x.number(`SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND usename = 'settlementd_service' AND wait_event_type = 'Lock'`) >= n
	})
}

// number is the one value of a query.
func (x *site) number(query string, args ...any) int {
	x.t.Helper()
	return postgrestest.Value[int](x.DB, query, args...)
}

// entries is how many entries have such an event key.
func (x *site) entries(like string) int {
	x.t.Helper()
	return x.number("SELECT count(*) FROM entries WHERE event_key LIKE $1", like)
}

// whole verifies the ledger, and that no transaction was left open.
func (x *site) whole() {
	x.t.Helper()
	postgrestest.Until(x.t, "no transaction is open", func() bool {
		return x.number(`SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND usename = 'settlementd_service' AND xact_start IS NOT NULL`) == 0
	})
	x.Verify(x.t)
}

// wantCredits checks the account's balance.
func (x *site) wantCredits(available, held int64) {
	x.t.Helper()
	a := x.account()
	if a.GetCreditsAvailable() != available || a.GetCreditsHeld() != held {
		x.t.Errorf("%d credits and %d held, not %d and %d", a.GetCreditsAvailable(), a.GetCreditsHeld(), available, held)
	}
}

func (x *site) account() *settlementv1.Account {
	x.t.Helper()
	resp, err := x.Accounts.GetAccount(x.t.Context(), &settlementv1.GetAccountRequest{TenantId: apptest.Tenant, AccountId: apptest.Account})
	if err != nil {
		x.t.Fatal(err)
	}
	return resp.GetAccount()
}

// addAccount makes an account with credits and slots enough for any test.
func (x *site) addAccount(id string) {
	x.t.Helper()
	x.DB.Exec(`INSERT INTO accounts (tenant_id, account_id, credits_available, credits_held, free_attempts_available, free_attempts_held,
			slot_limit, slots_in_use, suspended, created_at)
		VALUES ($1, $2, 0, 0, 0, 0, 100000, 0, false, settlement_now())`, apptest.Tenant, id)
	if _, err := x.Accounts.GrantCredits(x.t.Context(), &settlementv1.GrantCreditsRequest{
		TenantId: apptest.Tenant, AccountId: id, GrantId: "seed", Credits: 1_000_000,
	}); err != nil {
		x.t.Fatal(err)
	}
}

// account names another account than the usual one.
func from(account string) func(*settlementv1.ReserveRequest) {
	return func(r *settlementv1.ReserveRequest) { r.AccountId = account }
}

// roomy lifts every limit but the credits.
func (x *site) roomy() {
	x.t.Helper()
	x.PutProvider(x.t, func(r *settlementv1.PutProviderRequest) { r.BudgetLimitMicros = 1_000_000_000 })
	slots(x.t, x.Service, 100_000)
	x.DB.Exec("UPDATE budgets SET limit_micros = 1000000000")
}

// passing are the codes after which a caller comes again with the same id.
func passing(err error) bool {
	c := status.Code(err)
	return c == codes.Unavailable || c == codes.Aborted
}

func wantCode(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("%s: %v instead of %v: %v", what, got, want, err)
	}
}

func wantDisposition(t *testing.T, got interface {
	GetDisposition() settlementv1.Disposition
}, err error, want settlementv1.Disposition) {
	t.Helper()
	if err != nil || got.GetDisposition() != want {
		t.Errorf("%v %v instead of %v", got.GetDisposition(), err, want)
	}
}
