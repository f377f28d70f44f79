package main

import (
	"context"
	"errors"

	"github.com/settlementd/settlementd/internal/reconcile/command"
)

// drainCmd runs chunks of a job until it is done.
type drainCmd struct {
	Job       string `arg:"" help:"The job." placeholder:"JOB"`
	MaxChunks int32  `default:"64" help:"Chunks to run at most (1 to 64)."`
}

// Validate refuses what the server would.
func (d *drainCmd) Validate() error {
	const most = 64
	if d.MaxChunks < 1 || d.MaxChunks > most {
		return errors.New("max-chunks: must be from 1 to 64")
	}
	return nil
}

// Run drains.
func (d *drainCmd) Run(ctx context.Context, c *cli) error {
	return c.Reconcile.with(ctx, func(s *command.Session) error { return s.Drain(ctx, d.Job, d.MaxChunks) })
}
