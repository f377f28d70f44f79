package main

import (
	"context"
	"os"

	"github.com/settlementd/settlementd/internal/demo"
)

// demoWorkerCmd is a worker of the demo in a process of its own, to be killed or frozen.
type demoWorkerCmd struct {
	demo.WorkerOptions
}

// Run works until the job is done, or until nobody waits for it any more.
func (d *demoWorkerCmd) Run(ctx context.Context) error {
	return demo.RunWorker(ctx, d.WorkerOptions, os.Stdin, os.Stdout)
}
