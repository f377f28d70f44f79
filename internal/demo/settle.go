package demo

import (
	"context"
	"fmt"
	"slices"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// The dispositions, short.
const (
	applied    = settlementv1.Disposition_DISPOSITION_APPLIED
	replayed   = settlementv1.Disposition_DISPOSITION_REPLAYED
	superseded = settlementv1.Disposition_DISPOSITION_SUPERSEDED
	held       = settlementv1.Disposition_DISPOSITION_HELD
	refused    = settlementv1.Disposition_DISPOSITION_REFUSED
)

// outcome makes the request that tells of an outcome.
type outcome func(j *job) *settlementv1.SettleRequest

// settled sends an outcome.
func settled(o outcome, want settlementv1.Disposition) step {
	return func(ctx context.Context, j *job) error {
		got, err := j.settle(ctx, o, settlementv1.Observer_OBSERVER_WORKER)
		if err != nil {
			return err
		}
		if got.Disposition != want {
			return fmt.Errorf("settle: %v %v %v, want %v", got.Disposition, got.HeldReason, got.RefusedReason, want)
		}
		return nil
	}
}

// settledOnce sends an outcome twice: the second time must move nothing.
func settledOnce(o outcome) step { return inOrder(settled(o, applied), settled(o, replayed)) }

func (j *job) settle(ctx context.Context, o outcome, by settlementv1.Observer) (*settlementv1.SettleResponse, error) {
	r := o(j)
	r.TenantId, r.ReservationId, r.Observer = Tenant, j.reservation, by
	a, err := j.clients.settlements.Settle(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	return a, nil
}

// completed says that the attempt's output may be delivered, with the cost that the provider told. A charge of less than 0 is none.
func completed(label string, check settlementv1.OutputCheck, charge int64) outcome {
	return func(j *job) *settlementv1.SettleRequest {
		key := j.key(label)
		c := &settlementv1.CompletedOutcome{OutputCheck: check, Cost: money(j.seen[key].Cost)}
		if charge >= 0 {
			c.Charge = &charge
		}
		r := &settlementv1.SettleRequest{RequestKey: &key, Outcome: &settlementv1.SettleRequest_Completed{Completed: c}}
		if check == settlementv1.OutputCheck_OUTPUT_CHECK_PASSED {
			r.CheckRequestKey = new(j.key(checkOf(onOutput)))
		}
		return r
	}
}

// delivered is a completed attempt of a provider that needs no check of the output, charged in full.
func delivered(label string) outcome {
	return completed(label, settlementv1.OutputCheck_OUTPUT_CHECK_NOT_REQUIRED, -1)
}

func providerFailed(label string) outcome {
	return func(j *job) *settlementv1.SettleRequest {
		key := j.key(label)
		seen := j.seen[key]
		f := &settlementv1.ProviderFailedOutcome{Code: seen.Code, Cost: money(seen.Cost)}
		if f.Code == "" {
			f.Code = "refused"
		}
		return &settlementv1.SettleRequest{RequestKey: &key, Outcome: &settlementv1.SettleRequest_ProviderFailed{ProviderFailed: f}}
	}
}

// rejected says that a check said no. For the input the cost is the check's, for the output the generation's.
func rejected(label string, stage settlementv1.Stage) outcome {
	return func(j *job) *settlementv1.SettleRequest {
		check := j.key(checkOf(stage))
		verdict := j.verdicts[check]
		p := &settlementv1.PolicyRejectedOutcome{Stage: stage, Categories: slices.Clone(verdict.Categories)}
		r := &settlementv1.SettleRequest{CheckRequestKey: &check, Outcome: &settlementv1.SettleRequest_PolicyRejected{PolicyRejected: p}}
		if stage == onInput {
			p.Cost = money(verdict.Cost)
			return r
		}
		key := j.key(label)
		r.RequestKey, p.Cost = &key, money(j.seen[key].Cost)
		return r
	}
}

// unavailable says that a check brought no verdict.
func unavailable(label string, stage settlementv1.Stage) outcome {
	return func(j *job) *settlementv1.SettleRequest {
		check := j.key(checkOf(stage))
		m := &settlementv1.ModerationUnavailableOutcome{Stage: stage, Cause: unavailableCause(j.verdicts[check].Cause)}
		r := &settlementv1.SettleRequest{
			CheckRequestKey: &check, Outcome: &settlementv1.SettleRequest_ModerationUnavailable{ModerationUnavailable: m},
		}
		if stage == onOutput {
			r.RequestKey = new(j.key(label))
		}
		return r
	}
}

// submissionUncertain says that nobody knows whether the attempt has reached the provider.
func submissionUncertain(label string) outcome {
	return func(j *job) *settlementv1.SettleRequest {
		key := j.key(label)
		return &settlementv1.SettleRequest{RequestKey: &key, Outcome: &settlementv1.SettleRequest_SubmissionUncertain{
			SubmissionUncertain: &settlementv1.SubmissionUncertainOutcome{Cause: uncertainCause(j.causes[key])},
		}}
	}
}

// cancelled says that the job is no longer wanted. A label names the attempt whose permit was never used.
func cancelled(notSent string) outcome {
	return func(j *job) *settlementv1.SettleRequest {
		r := &settlementv1.SettleRequest{
			Outcome: &settlementv1.SettleRequest_Cancelled{Cancelled: &settlementv1.CancelledOutcome{Reason: "the customer went away"}},
		}
		if notSent != "" {
			r.NotSent = &settlementv1.NotSent{PermitToken: j.permits[j.key(notSent)].token}
		}
		return r
	}
}
