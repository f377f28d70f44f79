package demo

import (
	"context"
	"fmt"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// proof makes evidence about an attempt.
type proof func(j *job, key string) *settlementv1.Evidence

// reconciled brings evidence about an attempt.
func reconciled(label string, p proof, want settlementv1.Disposition) step {
	return func(ctx context.Context, j *job) error {
		got, err := j.reconcile(ctx, j.key(label), p)
		if err != nil {
			return err
		}
		if got.Disposition != want {
			return fmt.Errorf("reconcile: %v %v, want %v", got.Disposition, got.RefusedReason, want)
		}
		return nil
	}
}

// reconciledInTime brings evidence that is refused while the request may still arrive, until it is not.
func reconciledInTime(label string, p proof) step {
	return func(ctx context.Context, j *job) error {
		key := j.key(label)
		ends := j.began[key].Add(time.Duration(j.scenario.permitSeconds) * time.Second) // the service counts from later
		return await(ctx, "the end of the permit", func(ctx context.Context) (bool, error) {
			got, err := j.reconcile(ctx, key, p)
			switch {
			case err != nil:
				return false, err
			case got.RefusedReason == settlementv1.RefusedReason_REFUSED_REASON_TOO_EARLY:
				return false, nil
			case time.Now().Before(ends):
				return false, fmt.Errorf("reconcile: %v while the permit lives, want TOO_EARLY", got.Disposition)
			case got.Disposition != applied:
				return false, fmt.Errorf("reconcile: %v %v, want APPLIED", got.Disposition, got.RefusedReason)
			}
			return true, nil
		})
	}
}

func (j *job) reconcile(ctx context.Context, key string, p proof) (*settlementv1.ReconcileResponse, error) {
	a, err := j.clients.evidence.Reconcile(ctx, &settlementv1.ReconcileRequest{
		TenantId: Tenant, ReservationId: j.reservation, RequestKey: key, Evidence: p(j, key),
		Source: &settlementv1.EvidenceSource{Kind: settlementv1.SourceKind_SOURCE_KIND_PROVIDER_API, Reference: "look-up of " + key},
	})
	if err != nil {
		return nil, fmt.Errorf("reconcile: %w", err)
	}
	return a, nil
}

// provenSucceeded is what the provider said when it was asked again.
func provenSucceeded(j *job, key string) *settlementv1.Evidence {
	seen := j.seen[key]
	return &settlementv1.Evidence{Kind: &settlementv1.Evidence_Succeeded{Succeeded: &settlementv1.SucceededEvidence{
		OutputCheck: new(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_NOT_REQUIRED), Cost: money(seen.Cost), ProviderTaskId: &seen.TaskID,
	}}}
}

// provenNotReceived lets the job fail.
func provenNotReceived(*job, string) *settlementv1.Evidence {
	return &settlementv1.Evidence{Kind: &settlementv1.Evidence_NotReceived{NotReceived: &settlementv1.NotReceivedEvidence{}}}
}

// provenNotReceivedResume opens the job for another attempt.
func provenNotReceivedResume(*job, string) *settlementv1.Evidence {
	return &settlementv1.Evidence{Kind: &settlementv1.Evidence_NotReceived{NotReceived: &settlementv1.NotReceivedEvidence{
		Resume: &settlementv1.Resume{TtlSeconds: 600},
	}}}
}

func givenUp(*job, string) *settlementv1.Evidence {
	return &settlementv1.Evidence{Kind: &settlementv1.Evidence_GivenUp{GivenUp: &settlementv1.GivenUpEvidence{
		Reason: "the provider has lost its records",
	}}}
}

func stillUnknown(*job, string) *settlementv1.Evidence {
	return &settlementv1.Evidence{Kind: &settlementv1.Evidence_StillUnknown{StillUnknown: &settlementv1.StillUnknownEvidence{
		Cause: settlementv1.UncertainCause_UNCERTAIN_CAUSE_NOT_FOUND_YET,
	}}}
}

// notFound asks the provider once about an attempt that it does not know (yet), which proves nothing: everything stays held.
func notFound(label, state string) step {
	return inOrder(func(ctx context.Context, j *job) error {
		if got := j.stage.provider.Lookup(ctx, j.key(label)); got.Fact != fakeprovider.NotFound {
			return fmt.Errorf("look-up of %s: %s, want NOT_FOUND", j.key(label), got.Fact)
		}
		return nil
	}, reconciled(label, stillUnknown, applied), allHeld(state))
}

// allHeld reads that nothing has moved since the job was reserved, and where it stands.
func allHeld(state string) step {
	return func(ctx context.Context, j *job) error {
		got, err := j.readHolds(ctx)
		if err != nil {
			return err
		}
		return j.scenario.want.open(state).compare(got, "wanted", "read")
	}
}

// uncertain sends an attempt whose answer is lost, and says so: nothing is released.
func uncertain(label string) step {
	return inOrder(permitted(label), lost(label), settled(submissionUncertain(label), applied), allHeld("UNCERTAIN"))
}
