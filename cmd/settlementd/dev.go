package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/postgres/embedded"
)

// devCmd serves on a private PostgreSQL whose data is there next time.
type devCmd struct {
	Listen  string `env:"SETTLEMENTD_LISTEN" default:"127.0.0.1:7420" help:"Address to listen on."`
	DataDir string `env:"SETTLEMENTD_DATA_DIR" default:"${dataDir}" type:"path" help:"Folder of the embedded PostgreSQL; made when it is missing. Absent: settlementd in $XDG_DATA_HOME or ~/.local/share, and /var/lib/settlementd-dev for root, whose home PostgreSQL's user cannot enter."`
}

// The demo tenant: what dev sets up once, and what the README's calls talk about.
const (
	devTenant   = "demo"
	devAccount  = "alice"
	devProvider = "studio"
)

// Run serves until ctx ends.
func (d *devCmd) Run(ctx context.Context, log *slog.Logger) error {
	return serveEmbedded(ctx, embedded.Options{Dir: d.DataDir}, d.Listen, log, func(*app.Config) {}, func(using context.Context, at place) error {
		if err := setUpDemoTenant(using, at.address); err != nil {
			return err
		}
		fmt.Printf("settlementd serves on %s; data in %s; psql \"%s\"\nTenant %s has account %s and provider %s. Ctrl-C stops.\n",
			at.address, d.DataDir, at.owner, devTenant, devAccount, devProvider)
		<-using.Done()
		if ctx.Err() == nil {
			return context.Cause(using)
		}
		return nil
	})
}

// setUpDemoTenant makes a tenant with an account, a provider and a first grant; made before, nothing of it changes.
func setUpDemoTenant(ctx context.Context, address string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	accounts := settlementv1.NewAccountServiceClient(conn)
	if _, err := accounts.PutTenant(ctx, &settlementv1.PutTenantRequest{TenantId: devTenant}, grpc.WaitForReady(true)); err != nil {
		return fmt.Errorf("demo tenant: %w", err)
	}
	_, err = accounts.GetAccount(ctx, &settlementv1.GetAccountRequest{TenantId: devTenant, AccountId: devAccount})
	if status.Code(err) == codes.NotFound { // the account comes last of what a developer may have changed since
		err = putDemoSettings(ctx, accounts)
	}
	if err != nil {
		return fmt.Errorf("demo account: %w", err)
	}
	// Grants are made once, however often they are asked for.
	_, err = accounts.GrantCredits(ctx, &settlementv1.GrantCreditsRequest{TenantId: devTenant, AccountId: devAccount, GrantId: "welcome", Credits: 1000})
	if err != nil {
		return fmt.Errorf("demo grant: %w", err)
	}
	_, err = accounts.GrantFreeAttempts(ctx, &settlementv1.GrantFreeAttemptsRequest{TenantId: devTenant, AccountId: devAccount, GrantId: "welcome", Attempts: 3})
	if err != nil {
		return fmt.Errorf("demo grant: %w", err)
	}
	return nil
}

func putDemoSettings(ctx context.Context, accounts settlementv1.AccountServiceClient) error {
	_, err := accounts.PutProvider(ctx, &settlementv1.PutProviderRequest{
		TenantId: devTenant, ProviderId: devProvider, Currency: "USD", Enabled: true, MaxInFlight: 100,
		NotReceivedAfterSeconds: 60, IdempotencyKeySeconds: 3600,
		BudgetPeriod: settlementv1.BudgetPeriod_BUDGET_PERIOD_MONTH, TimeZone: "UTC", BudgetLimitMicros: 100_000_000,
	})
	if err != nil {
		return err
	}
	_, err = accounts.PutAccount(ctx, &settlementv1.PutAccountRequest{TenantId: devTenant, AccountId: devAccount, SlotLimit: 10})
	return err
}

// defaultDataDir is where dev keeps its data when nobody says.
func defaultDataDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return dataDir(os.Getenv("XDG_DATA_HOME"), home, os.Geteuid() == 0)
}

// dataDir is the data folder of a user. PostgreSQL's user cannot enter root's home, so root's is the machine's.
func dataDir(xdg, home string, root bool) string {
	switch {
	case xdg != "":
		return filepath.Join(xdg, "settlementd")
	case root:
		return "/var/lib/settlementd-dev"
	default:
		return filepath.Join(home, ".local", "share", "settlementd")
	}
}
