package cases_test

import (
	"context"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// checkContent has the input or the output checked, once. A check has no task that could be asked for, so one that somebody left
// unanswered is unavailable when its time is over, and is never bought again.
func (w *worker) checkContent(ctx context.Context, r *settlementv1.Reservation, stage settlementv1.Stage) (*settlementv1.Reservation, error) {
	key, word := w.job.checkOf(stage), stageWord(stage)
	if l := findLine(r, key); l != nil {
		if w.now().Before(l.GetCheckTimeoutAt().AsTime()) {
			return r, errParked
		}
		return w.unavailable(ctx, r, stage, settlementv1.UnavailableCause_UNAVAILABLE_CAUSE_TIMEOUT)
	}
	req := apptest.Check(w.job.id, key, stage)
	req.PermitToken, req.GetModeration().CheckTimeoutSeconds = w.token(), seconds(checkTime)
	asked := w.now()
	a, err := ask(w, "begin "+word, func() (*settlementv1.BeginSubmissionResponse, error) { return w.Reservations.BeginSubmission(ctx, req) })
	if err != nil || a.GetPermit() == nil {
		return a.GetReservation(), err
	}
	until := permitEnd(asked, a.GetPermit())
	sent, verdict := false, fakeprovider.Verdict{}
	lost, err := w.effect("POST "+word, func() {
		if sent = w.now().Before(until); sent {
			verdict = w.check(ctx, key, word)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case !sent:
		return w.look(ctx)
	case lost:
		verdict = fakeprovider.Verdict{Fact: fakeprovider.Unavailable, Cause: fakeprovider.Transport}
	}
	return w.conclude(ctx, r, stage, verdict)
}

// conclude tells the service what a check said. A verdict on the output ends the job first, and what the check cost follows: a check that
// is only known to have ended says nothing to the next worker.
func (w *worker) conclude(
	ctx context.Context, r *settlementv1.Reservation, stage settlementv1.Stage, v fakeprovider.Verdict,
) (*settlementv1.Reservation, error) {
	key, cost := w.job.checkOf(stage), costOf(v.Cost)
	switch {
	case v.Fact == fakeprovider.Passed && stage == apptest.Input:
		return w.report(ctx, key, apptest.EndedWell(cost))
	case v.Fact == fakeprovider.Rejected && stage == apptest.Input:
		no := &settlementv1.PolicyRejectedOutcome{Stage: stage, Categories: v.Categories, Cost: cost}
		return w.settle(ctx, nil, no, apptest.Checked(key))
	case v.Fact == fakeprovider.Passed || v.Fact == fakeprovider.Rejected:
		var verdict any = apptest.Completed(nil)
		if v.Fact == fakeprovider.Rejected {
			verdict = &settlementv1.PolicyRejectedOutcome{Stage: stage, Categories: v.Categories}
		}
		if r, err := w.settle(ctx, liveGeneration(r), verdict, apptest.Checked(key)); err != nil {
			return r, err
		}
		return w.report(ctx, key, apptest.EndedWell(cost))
	default:
		cause := settlementv1.UnavailableCause_value["UNAVAILABLE_CAUSE_"+string(v.Cause)]
		return w.unavailable(ctx, r, stage, settlementv1.UnavailableCause(cause))
	}
}

func (w *worker) unavailable(
	ctx context.Context, r *settlementv1.Reservation, stage settlementv1.Stage, cause settlementv1.UnavailableCause,
) (*settlementv1.Reservation, error) {
	outcome := &settlementv1.ModerationUnavailableOutcome{Stage: stage, Cause: cause}
	return w.settle(ctx, liveGeneration(r), outcome, apptest.Checked(w.job.checkOf(stage)))
}
