package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

const (
	deadlineMargin = 300 // seconds, where a search does not say
	searchPage     = 500
	leftOutMax     = 1000
)

// plan is what a job would do at one moment.
type plan struct {
	manifest ledger.Manifest
	lines    []line
	leftOut  []line
	more     bool
}

// line is a reservation that a plan speaks of. A target that names none has no view.
type line struct {
	target      ledger.Target
	view        *ledger.View
	differences []ledger.Difference
}

// PlanJob proposes a manifest, or tries one, and changes nothing.
func (s *Server) PlanJob(ctx context.Context, req *settlementv1.PlanJobRequest) (*settlementv1.PlanJobResponse, error) {
	tenant := ledger.TenantID(req.GetTenantId())
	now, err := s.reader.Now(ctx)
	if err != nil {
		return nil, err
	}
	var p plan
	if search := req.GetSearch(); search != nil {
		p, err = s.search(ctx, tenant, search, now)
	} else {
		p, err = s.dryRun(ctx, tenant, parseManifest(req.GetManifest()), now)
	}
	if err != nil {
		return nil, err
	}
	return respondPlan(tenant, &p), nil
}

// dryRun holds each target of a manifest against its reservation.
func (s *Server) dryRun(ctx context.Context, tenant ledger.TenantID, m ledger.Manifest, now time.Time) (plan, error) {
	m, err := m.Normalise(s.config.Limits)
	if err != nil {
		return plan{}, err
	}
	filter := ledgerdb.ReservationFilter{}
	for _, t := range m.Targets {
		filter.IDs = append(filter.IDs, t.Reservation)
	}
	views, err := s.reader.Reservations(ctx, tenant, filter, ledgerdb.Page{Size: len(filter.IDs)})
	if err != nil {
		return plan{}, err
	}
	byID := make(map[ledger.ReservationID]*ledger.View, len(views))
	for i := range views {
		byID[views[i].ID] = &views[i]
	}
	p := plan{manifest: m}
	for _, t := range m.Targets {
		l := line{target: t, view: byID[t.Reservation]}
		if l.view == nil {
			l.differences = t.Missing()
		} else {
			l.differences = slices.Concat(t.Differences(l.view), m.Action.Misfit(l.view, now))
		}
		p.lines = append(p.lines, l)
	}
	return p, nil
}

// search looks through the reservations that the action might fit, the oldest first, until it has as many as asked.
func (s *Server) search(ctx context.Context, tenant ledger.TenantID, req *settlementv1.JobSearch, now time.Time) (plan, error) {
	m, targetsMax, err := s.parseSearch(req)
	if err != nil {
		return plan{}, err
	}
	margin := time.Duration(deadlineMargin) * time.Second
	if req.DeadlineMarginSeconds != nil {
		margin = time.Duration(req.GetDeadlineMarginSeconds()) * time.Second
	}
	p := plan{manifest: m}
	page, filter := ledgerdb.Page{Size: searchPage}, parseFilter(req)
	for full := true; full && !p.more; {
		views, err := s.reader.Reservations(ctx, tenant, filter, page)
		if err != nil {
			return plan{}, err
		}
		for i := range views {
			p.consider(&views[i], now, margin, targetsMax)
		}
		if full = len(views) == page.Size; full {
			last := &views[len(views)-1]
			page.After = ledgerdb.Cursor{At: last.CreatedAt, ID: string(last.ID)}
		}
	}
	p.sort()
	return p, nil
}

// consider proposes a reservation, or tells why not.
func (p *plan) consider(v *ledger.View, now time.Time, margin time.Duration, targetsMax int) {
	l := line{
		target: ledger.Target{Reservation: v.ID, Revision: v.Revision, Taken: v.Taken}, view: v,
		differences: p.manifest.Action.Misfit(v, now),
	}
	if left := v.Deadline.Sub(now); left > 0 && left <= margin {
		l.differences = append(l.differences, ledger.Difference{
			What: ledger.MismatchDueSoon, Expected: fmt.Sprintf("more than %s left", margin), Found: left.Round(time.Second).String(),
		})
	}
	switch {
	case len(l.differences) == 0 && len(p.lines) == targetsMax:
		p.more = true
	case len(l.differences) == 0:
		p.lines = append(p.lines, l)
	case len(p.leftOut) < leftOutMax:
		p.leftOut = append(p.leftOut, l)
	}
}

// sort puts everything into the order of the ids.
func (p *plan) sort() {
	byID := func(a, b line) int { return compareIDs(a.target.Reservation, b.target.Reservation) }
	slices.SortFunc(p.lines, byID)
	slices.SortFunc(p.leftOut, byID)
	for _, l := range p.lines {
		p.manifest.Targets = append(p.manifest.Targets, l.target)
	}
}
