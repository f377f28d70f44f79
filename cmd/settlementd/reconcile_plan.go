package main

import (
	"context"
	"errors"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/reconcile/command"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// planCmd shows what a job would do.
type planCmd struct {
	Manifest string `type:"path" help:"Try this manifest, a JSON file or a file of targets, instead of searching." placeholder:"FILE"`
	jobFlags

	TargetsMax     *int32         `help:"Reservations to propose at most. Absent: as many as the server allows." placeholder:"N"`
	DeadlineMargin *time.Duration `help:"Leave out what expires within this time. Absent: 5m." placeholder:"DURATION"`
	Account        *string        `help:"Only reservations of this account." placeholder:"ID"`
	Provider       *string        `help:"Only reservations at this provider." placeholder:"ID"`
	OlderThan      *time.Duration `help:"Only reservations made longer ago than this." placeholder:"DURATION"`
	Save           string         `type:"path" help:"Save the proposed manifest as this JSON file, which must not be there yet." placeholder:"FILE"`
}

// Validate refuses flags that do not go together.
func (p *planCmd) Validate() error {
	switch {
	case p.Manifest == "" && (p.JobID == "" || p.Action == ""):
		return errors.New("--job-id and --action are required for a search, or --manifest to try one")
	case p.Manifest != "" && (p.TargetsMax != nil || p.DeadlineMargin != nil || p.Account != nil || p.Provider != nil || p.OlderThan != nil || p.Save != ""):
		return errors.New("--manifest tries a manifest and searches nothing")
	case broken(p.DeadlineMargin) || broken(p.OlderThan):
		return errors.New("--deadline-margin and --older-than are whole seconds")
	}
	return nil
}

// Run plans.
func (p *planCmd) Run(ctx context.Context, c *cli) error {
	req := &settlementv1.PlanJobRequest{}
	if p.Manifest != "" {
		file := p.manifest(p.Manifest)
		m, err := file.Read()
		if err != nil {
			return err
		}
		req.Subject = &settlementv1.PlanJobRequest_Manifest{Manifest: m}
	} else {
		req.Subject = &settlementv1.PlanJobRequest_Search{Search: p.search()}
	}
	return c.Reconcile.with(ctx, func(s *command.Session) error { return s.Plan(ctx, req, p.Save) })
}

func (p *planCmd) search() *settlementv1.JobSearch {
	search := &settlementv1.JobSearch{
		JobId: p.JobID, Action: wire.JobActions.Enum(ledger.JobAction(p.Action)), TargetsMax: p.TargetsMax, AccountId: p.Account, ProviderId: p.Provider,
		DeadlineMarginSeconds: seconds(p.DeadlineMargin), OlderThanSeconds: seconds(p.OlderThan),
	}
	if p.ChunkSize != 0 {
		search.ChunkSize = &p.ChunkSize
	}
	return search
}

// broken tells whether a time is not made of whole seconds.
func broken(d *time.Duration) bool { return d != nil && *d%time.Second != 0 }

func seconds(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	return new(int64(*d / time.Second))
}
