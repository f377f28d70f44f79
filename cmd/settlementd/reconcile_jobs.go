package main

import (
	"context"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/reconcile/command"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// jobsCmd lists jobs.
type jobsCmd struct {
	State []string `enum:"REGISTERED,APPROVED,DONE" help:"Only those in this state (REGISTERED, APPROVED, DONE); may be given several times." placeholder:"STATE"`
}

// Run lists.
func (j *jobsCmd) Run(ctx context.Context, c *cli) error {
	req := &settlementv1.ListJobsRequest{}
	for _, state := range j.State {
		req.States = append(req.States, wire.JobStates.Enum(state))
	}
	return c.Reconcile.with(ctx, func(s *command.Session) error { return s.Jobs(ctx, req) })
}
