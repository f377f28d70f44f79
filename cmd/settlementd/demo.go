package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/demo"
	"github.com/settlementd/settlementd/internal/fakeprovider"
	"github.com/settlementd/settlementd/internal/postgres"
	"github.com/settlementd/settlementd/internal/postgres/embedded"
)

// demoCmd plays every outcome and leaves nothing behind.
type demoCmd struct {
	PlantFailure string `hidden:"" help:"Only for tests of the demo: move a balance behind the ledger's back in this scenario, or in the ledger."`
}

// Validate refuses the name of a scenario that there is none of.
func (d *demoCmd) Validate() error {
	if !demo.CanPlant(d.PlantFailure) {
		return fmt.Errorf("plant-failure: no scenario is called %q", d.PlantFailure)
	}
	return nil
}

// Run plays, and fails when anything is not as it must be. Its last line counts.
func (d *demoCmd) Run(ctx context.Context, c *cli) error {
	dir, err := temporaryFolder()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	options := fakeprovider.Defaults()
	options.GenerationCost, options.CheckCost = demo.GenerationCost, demo.CheckCost
	provider, err := fakeprovider.Start(options)
	if err != nil {
		return err
	}
	passed, failed := 0, 0
	count := func(good bool) {
		if good {
			passed++
		} else {
			failed++
		}
	}
	fmt.Println("Starting PostgreSQL, the service and a fake provider.")
	err = serveEmbedded(ctx, embedded.Options{Dir: dir, Ephemeral: true}, "127.0.0.1:0", c.logger(slog.LevelWarn), sweepOften,
		func(ctx context.Context, at place) error { return d.play(ctx, at, provider, count) })
	if err = errors.Join(err, provider.Close()); err != nil {
		return err
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return errShown
	}
	return nil
}

// sweepOften lets nobody wait for the sweep. On a busy machine a call may be slow without being a fault.
func sweepOften(c *app.Config) { c.SweepInterval, c.SlowCall = 50*time.Millisecond, time.Minute }

// play plays the scenarios, verifies what they left in the ledger, and counts both.
func (d *demoCmd) play(ctx context.Context, at place, provider *fakeprovider.Server, count func(good bool)) error {
	pool, err := postgres.Open(ctx, postgres.Config{DSN: at.database, Kind: postgres.Read, MaxConns: 4, ApplicationName: "settlementd demo"})
	if err != nil {
		return err
	}
	defer pool.Close()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	results, err := demo.Play(ctx, demo.Config{
		Service: at.address, Database: pool, Provider: provider, Program: []string{program, "demo-worker"}, Drainer: []string{program, "demo-drainer"},
		Progress: os.Stdout, PlantFailure: d.PlantFailure,
	})
	if err != nil {
		return err
	}
	fmt.Printf("\n%s\n\n", demo.Table(results))
	for _, r := range results {
		count(r.Err == nil)
	}
	report, err := verifyTenants(ctx, pool, nil)
	if err != nil {
		return err
	}
	fmt.Println(report.table())
	count(report.Good)
	return nil
}

// temporaryFolder makes a folder that the server's user can enter although we are root: what os.MkdirTemp makes is closed to others.
func temporaryFolder() (string, error) {
	dir, err := os.MkdirTemp("", "settlementd-demo-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}
