package main

import (
	"context"

	"github.com/settlementd/settlementd/internal/reconcile/command"
)

// registerCmd stores a manifest as a job.
type registerCmd struct {
	Manifest string `type:"path" required:"" help:"The manifest: a JSON file, or a file of targets (reservation_id, revision, taken_unit, taken) with the other flags beside it." placeholder:"FILE"`
	jobFlags
	By string `env:"SETTLEMENTD_OPERATOR" required:"" help:"Who registers the job." placeholder:"NAME"`
}

// Run registers.
func (r *registerCmd) Run(ctx context.Context, c *cli) error {
	file := r.manifest(r.Manifest)
	m, err := file.Read()
	if err != nil {
		return err
	}
	return c.Reconcile.with(ctx, func(s *command.Session) error { return s.Register(ctx, m, r.By) })
}
