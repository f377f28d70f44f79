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

// demoDrainerCmd is a drain of the demo in a process of its own, to be killed.
type demoDrainerCmd struct {
	demo.DrainerOptions
}

// Run drains until the job is done, or until nobody waits for it any more.
func (d *demoDrainerCmd) Run(ctx context.Context) error {
	return demo.RunDrainer(ctx, d.DrainerOptions, os.Stdin, os.Stdout)
}
