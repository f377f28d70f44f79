package main

import (
	"context"
	"errors"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/reconcile/command"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// exceptionsCmd lists and resolves exceptions.
type exceptionsCmd struct {
	List    listExceptionsCmd   `cmd:"" default:"withargs" help:"List exceptions, those first that were seen first."`
	Resolve resolveExceptionCmd `cmd:"" help:"Decide on an exception, once."`
}

// listExceptionsCmd lists exceptions.
type listExceptionsCmd struct {
	Reservation *string  `help:"Only those of this reservation." placeholder:"ID"`
	Reason      []string `help:"Only those with this reason, such as COST_CONFLICT; may be given several times." placeholder:"REASON"`
	All         bool     `help:"Those that were resolved, too."`
}

// Validate refuses reasons that there are none of.
func (l *listExceptionsCmd) Validate() error {
	for _, r := range l.Reason {
		if wire.ExceptionReasons.Enum(ledger.Reason(r)) == settlementv1.ExceptionReason_EXCEPTION_REASON_UNSPECIFIED {
			return errors.New("reason: no exception has the reason " + r)
		}
	}
	return nil
}

// Run lists.
func (l *listExceptionsCmd) Run(ctx context.Context, c *cli) error {
	req := &settlementv1.ListExceptionsRequest{ReservationId: l.Reservation, IncludeResolved: l.All}
	for _, r := range l.Reason {
		req.Reasons = append(req.Reasons, wire.ExceptionReasons.Enum(ledger.Reason(r)))
	}
	return c.Reconcile.with(ctx, func(s *command.Session) error { return s.Exceptions(ctx, req) })
}

// resolveExceptionCmd decides on an exception.
type resolveExceptionCmd struct {
	Exception string `arg:"" help:"The exception." placeholder:"EXCEPTION"`
	Apply     string `xor:"resolution" required:"" help:"Make the fact's cost true, for this reason." placeholder:"REASON"`
	Dismiss   string `xor:"resolution" required:"" help:"Change nothing, for this reason." placeholder:"REASON"`
}

// Run resolves.
func (r *resolveExceptionCmd) Run(ctx context.Context, c *cli) error {
	req := &settlementv1.ResolveExceptionRequest{ExceptionId: r.Exception}
	if r.Apply != "" {
		req.Resolution = &settlementv1.ResolveExceptionRequest_Apply{Apply: &settlementv1.ApplyResolution{Reason: r.Apply}}
	} else {
		req.Resolution = &settlementv1.ResolveExceptionRequest_Dismiss{Dismiss: &settlementv1.DismissResolution{Reason: r.Dismiss}}
	}
	return c.Reconcile.with(ctx, func(s *command.Session) error { return s.Resolve(ctx, req) })
}
