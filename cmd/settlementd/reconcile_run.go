package main

import (
	"context"

	"github.com/settlementd/settlementd/internal/reconcile/command"
)

// runCmd runs one chunk of a job.
type runCmd struct {
	Job string `arg:"" help:"The job." placeholder:"JOB"`
}

// Run runs the chunk.
func (r *runCmd) Run(ctx context.Context, c *cli) error {
	return c.Reconcile.with(ctx, func(s *command.Session) error { return s.Run(ctx, r.Job) })
}
