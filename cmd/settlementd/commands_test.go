package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

func TestVersionAndHelpEndWell(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		args []string
		want string
	}{
		{[]string{"--version"}, "settlementd "},
		{[]string{"--help"}, "Run a generation provider"},
		{[]string{"serve", "--help"}, "$SETTLEMENTD_POOL_SIZE"},
		{[]string{"verify", "--help"}, "--tenant"},
		{[]string{"demo", "--help"}, "fake provider"},
	} {
		stdout, stderr, status := call(t, nil, of.args...)
		if status != 0 || !strings.Contains(stdout, of.want) || stderr != "" {
			t.Errorf("%v: status %d, %q\n%s", of.args, status, stderr, stdout)
		}
		for _, hidden := range []string{"demo-worker", "demo-drainer", "plant-failure"} {
			if strings.Contains(stdout, hidden) {
				t.Errorf("%v shows %s", of.args, hidden)
			}
		}
	}
}

func TestWhatIsNotUnderstoodHasStatus2(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"sevre"}, {"serve"}, {"verify"}, {"verify", "--database=dbname=x", "--output=csv"}} {
		if stdout, stderr, status := call(t, nil, args...); status != 2 || stdout != "" || !strings.HasPrefix(stderr, "settlementd: ") {
			t.Errorf("%v: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
}

func TestADatabaseThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"host=/does/not/exist", "no connection string"} {
		for _, command := range []string{"serve", "migrate", "verify"} {
			args := []string{command, "--database=" + dsn}
			if command == "serve" {
				args = append(args, "--listen=127.0.0.1:0")
			}
			if _, stderr, status := call(t, nil, args...); status != 1 || !strings.Contains(stderr, "settlementd: database: ") {
				t.Errorf("%v: status %d, %q", args, status, stderr)
			}
		}
	}
}

func TestMigrateServeVerify(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	owner, service := "SETTLEMENTD_OWNER_DATABASE="+db.OwnerDSN(), "SETTLEMENTD_DATABASE="+db.ServiceDSN()
	env := []string{owner, service, "SETTLEMENTD_SCHEMA=elsewhere"}
	for range 2 {
		if _, stderr, status := call(t, env, "migrate"); status != 0 || !strings.Contains(stderr, "migrated") {
			t.Fatalf("migrate: status %d, %s", status, stderr)
		}
	}
	server := start(t, env, "serve", "--listen=127.0.0.1:0", "--log-format=json")
	s := apptest.Dial(t, server.listening())
	if _, err := s.Accounts.PutTenant(t.Context(), &settlementv1.PutTenantRequest{TenantId: "elsewhere"}, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	if status := server.stop(syscall.SIGTERM); status != 0 {
		t.Errorf("serve ended with %d", status)
	}
	stdout, stderr, status := call(t, env, "verify")
	if status != 0 || !strings.Contains(stdout, "1 tenant, ") || !strings.Contains(stdout, "nothing is broken.") {
		t.Errorf("verify: status %d, %s\n%s", status, stderr, stdout)
	}
}

// listening waits until the server says where it listens.
func (p *program) listening() string {
	p.t.Helper()
	address, ok := awaitText(p, `"address":"`)
	if !ok {
		p.t.Fatal("the server does not listen")
	}
	return address
}

func TestVerifyNamesWhatIsBroken(t *testing.T) {
	t.Parallel()
	s := apptest.New(t)
	for _, account := range []string{"alice", "bob"} {
		if _, err := s.Accounts.PutAccount(t.Context(), &settlementv1.PutAccountRequest{TenantId: apptest.Tenant, AccountId: account}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Accounts.PutTenant(t.Context(), &settlementv1.PutTenantRequest{TenantId: "other"}); err != nil {
		t.Fatal(err)
	}
	s.DB.Exec("UPDATE accounts SET credits_available = 7 WHERE account_id = 'bob'")

	asService, asOwner := "--database="+s.DB.ServiceDSN(), "--database="+s.DB.OwnerDSN()
	for _, database := range []string{asService, asOwner} {
		stdout, stderr, status := call(t, nil, "verify", database)
		if status != 1 || stderr != "" {
			t.Errorf("status %d, %q", status, stderr)
		}
		for _, want := range []string{"✗ balances_match_the_ledger", "bob CREDITS available", "7 (+7)", "2 tenants", "1 row broken."} {
			if !strings.Contains(stdout, want) {
				t.Errorf("no %q in\n%s", want, stdout)
			}
		}
		if strings.Contains(stdout, "\x1b") {
			t.Error("colours in a pipe")
		}
	}
	if stdout, _, status := call(t, nil, "verify", asService, "--tenant=other"); status != 0 || !strings.Contains(stdout, "1 tenant, ") {
		t.Errorf("the other tenant: status %d\n%s", status, stdout)
	}
	if _, stderr, status := call(t, nil, "verify", asService, "--tenant=nobody"); status != 1 || !strings.Contains(stderr, "tenant nobody") {
		t.Errorf("no such tenant: status %d, %s", status, stderr)
	}
	stdout, _, status := call(t, nil, "verify", asService, "--output=json")
	var report verifyReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	want := finding{apptest.Tenant, "balances_match_the_ledger", "bob CREDITS available", "0", "7 (+7)"}
	if status != 1 || report.Good || len(report.Tenants) != 2 || len(report.Findings) != 1 || report.Findings[0] != want {
		t.Errorf("status %d, %+v", status, report)
	}
}

func TestFakeproviderServesOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	if _, stderr, status := call(t, nil, "fakeprovider", "--listen=0.0.0.0:0"); status != 1 || !strings.Contains(stderr, "loopback") {
		t.Errorf("status %d, %s", status, stderr)
	}
	p := start(t, nil, "fakeprovider", "--listen=127.0.0.1:0", "--generation-cost=90")
	_, address, _ := strings.Cut(p.expect("http://"), "http://")
	address, _, _ = strings.Cut(address, ". ")
	response, err := http.Get("http://" + address + "/v1/usage")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("status %d", response.StatusCode)
	}
	if status := p.stop(os.Interrupt.(syscall.Signal)); status != 0 {
		t.Errorf("ended with %d", status)
	}
}

func TestDevKeepsItsDataWhereItLasts(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		xdg, home string
		root      bool
		want      string
	}{
		{"", "/home/anna", false, "/home/anna/.local/share/settlementd"},
		{"/data", "/home/anna", false, "/data/settlementd"},
		{"", "/root", true, "/var/lib/settlementd-dev"},
		{"/srv/data", "/root", true, "/srv/data/settlementd"},
	} {
		if got := dataDir(of.xdg, of.home, of.root); got != of.want {
			t.Errorf("%+v: %s", of, got)
		}
	}
}

func TestDevKeepsItsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(postgrestest.Dir(t), "data")
	args := []string{"dev", "--listen=127.0.0.1:0", "--data-dir=" + dir}
	account := &settlementv1.GetAccountRequest{TenantId: devTenant, AccountId: devAccount}
	reserve := &settlementv1.ReserveRequest{
		TenantId: devTenant, ReservationId: "job", AccountId: devAccount, ProviderId: devProvider, BudgetMicros: 1, Currency: "USD",
		Funding: &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: 30}},
	}
	for _, replayed := range []bool{false, true} {
		p := start(t, nil, args...)
		_, address, _ := strings.Cut(p.expect("settlementd serves on "), "settlementd serves on ")
		address, _, _ = strings.Cut(address, ";")
		s := apptest.Dial(t, address)
		got, err := s.Reservations.Reserve(t.Context(), reserve)
		if err != nil || got.GetGranted() == nil || got.GetGranted().Replayed != replayed {
			t.Errorf("reserve: %v, %v", got, err)
		}
		if a, err := s.Accounts.GetAccount(t.Context(), account); err != nil || a.Account.CreditsAvailable != 970 {
			t.Errorf("account: %v, %v", a, err)
		}
		if _, stderr, status := call(t, nil, args...); status != 1 || !strings.Contains(stderr, "data-dir "+dir) || !strings.Contains(stderr, "in use") {
			t.Errorf("a second dev: status %d, %s", status, stderr)
		}
		if status := p.stop(syscall.SIGINT); status != 0 {
			t.Errorf("dev ended with %d", status)
		}
	}
}

// TestDevEndsWithItsDatabase has no dev go on that can answer nothing any more.
func TestDevEndsWithItsDatabase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(postgrestest.Dir(t), "data")
	p := start(t, nil, "dev", "--listen=127.0.0.1:0", "--data-dir="+dir)
	p.expect("settlementd serves on ")
	text, err := os.ReadFile(filepath.Join(dir, "pgdata", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if status := p.wait(); status != 1 {
		t.Errorf("dev ended with %d", status)
	}
	if _, stderr := p.said(); !strings.Contains(stderr, "PostgreSQL has ended: see "+filepath.Join(dir, "postgres.log")) {
		t.Errorf("dev said\n%s", stderr)
	}
}
