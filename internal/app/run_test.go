package app_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// TestAServerThatIsStoppedBeforeItServesEndsWell stops a server while it opens its connections: that is no fault of the database.
func TestAServerThatIsStoppedBeforeItServesEndsWell(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := app.Run(ctx, apptest.Config(postgrestest.New(t).ServiceDSN()), l); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestAServerNeedsNoPreparedStatements runs a server as behind a pooler that knows none: the role carries the settings, and everything travels
// as text.
func TestAServerNeedsNoPreparedStatements(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for setting, value := range map[string]string{
		"timezone": "UTC", "default_transaction_isolation": "read committed", "enable_seqscan": "off", "enable_bitmapscan": "off", "enable_hashjoin": "off",
		"enable_mergejoin": "off", "enable_memoize": "off", "plan_cache_mode": "force_generic_plan", "lock_timeout": "500ms", "statement_timeout": "2s",
		"idle_in_transaction_session_timeout": "10s",
	} {
		db.Exec(fmt.Sprintf("ALTER ROLE %s IN DATABASE %s SET %s = '%s'", postgrestest.Service, db.Name, setting, value))
	}
	s := apptest.On(t, db, func(c *app.Config) { c.Prepared = false })
	if _, err := s.Accounts.PutTenant(t.Context(), &settlementv1.PutTenantRequest{TenantId: apptest.Tenant}); err != nil {
		t.Fatal(err)
	}
	s.Seed(t)
	s.Granted(t, "J", "K")
	if a := s.Settle(t, "J", "K", apptest.Completed(apptest.Money(7))); a.GetDisposition() != settlementv1.Disposition_DISPOSITION_APPLIED {
		t.Errorf("settled: %v", a)
	}
	if !s.Granted(t, "J", "K").GetReplayed() {
		t.Error("no replay")
	}
	s.Verify(t)
}
