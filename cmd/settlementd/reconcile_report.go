package main

import (
	"context"

	"github.com/settlementd/settlementd/internal/reconcile/command"
)

// reportCmd compares what a job did with what its reservations are now.
type reportCmd struct {
	Job string `arg:"" help:"The job." placeholder:"JOB"`
}

// Run reports.
func (r *reportCmd) Run(ctx context.Context, c *cli) error {
	return c.Reconcile.with(ctx, func(s *command.Session) error { return s.Report(ctx, r.Job) })
}
