package main

import (
	"context"
	"fmt"
	"time"

	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// fakeproviderCmd runs the fake provider until it is told to stop.
type fakeproviderCmd struct {
	Listen            string        `env:"SETTLEMENTD_FAKEPROVIDER_LISTEN" default:"127.0.0.1:8089" help:"Loopback address to listen on: whoever reaches it controls it."`
	Currency          string        `default:"USD" help:"Currency of every charge, three capital letters."`
	GenerationCost    int64         `default:"50000" help:"What a generation costs, in millionths of the currency, where a script says nothing else."`
	CheckCost         int64         `default:"1000" help:"What a check costs, in millionths of the currency, where a script says nothing else."`
	IdempotencyWindow time.Duration `default:"24h" help:"How long an idempotency key names the same work; 0s takes no keys."`
	CallbackTimeout   time.Duration `default:"5s" help:"How long a receiver of a callback may take."`
	RecordsMax        int           `default:"200000" help:"How many keys, tasks and charges are kept together; beyond it requests are answered 503."`
}

// Run serves until ctx ends.
func (f *fakeproviderCmd) Run(ctx context.Context) error {
	server, err := fakeprovider.Start(fakeprovider.Options{
		Addr: f.Listen, Currency: f.Currency, GenerationCost: f.GenerationCost, CheckCost: f.CheckCost,
		IdempotencyWindow: f.IdempotencyWindow, CallbackTimeout: f.CallbackTimeout, RecordsMax: f.RecordsMax,
		Clock: fakeprovider.SystemClock{},
	})
	if err != nil {
		return err
	}
	fmt.Printf("The fake provider serves on %s. Ctrl-C stops.\n", server.URL())
	<-ctx.Done()
	return server.Close()
}
