package main

import (
	"context"

	"github.com/settlementd/settlementd/internal/reconcile/command"
)

// approveCmd lets a job run.
type approveCmd struct {
	Job  string `arg:"" help:"The job." placeholder:"JOB"`
	Hash string `required:"" help:"The hash of the manifest that is approved." placeholder:"HASH"`
	By   string `env:"SETTLEMENTD_OPERATOR" required:"" help:"Who approves the job." placeholder:"NAME"`
}

// Run approves.
func (a *approveCmd) Run(ctx context.Context, c *cli) error {
	return c.Reconcile.with(ctx, func(s *command.Session) error { return s.Approve(ctx, a.Job, a.Hash, a.By) })
}
