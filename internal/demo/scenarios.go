package demo

import (
	"context"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	fake "github.com/settlementd/settlementd/internal/fakeprovider"
)

const (
	calm  = 30 // seconds that a permit lives where nobody waits for its end
	brief = 3  // where somebody does
)

const passed, notRequired = settlementv1.OutputCheck_OUTPUT_CHECK_PASSED, settlementv1.OutputCheck_OUTPUT_CHECK_NOT_REQUIRED

// failureCost is what the provider charges for a generation that failed, checkCost for a check that costs anything.
const failureCost, checkCost int64 = 40_000, 10_000

// scenarios are all of them, in the order of the table.
func scenarios() []scenario {
	all := append(completions(), refusals()...)
	all = append(all, unchecked()...)
	all = append(all, endings()...)
	all = append(all, uncertainties()...)
	all = append(all, crashes()...)
	all = append(all, batches()...)
	return append(all, fleets()...)
}

func completions() []scenario {
	return []scenario{
		{
			name: "completed", title: "checked, generated, checked", permitSeconds: calm, provider: checksOutput,
			steps: []step{
				reserve(credits()), checked(onInput, fake.Passed), finished("first"), checked(onOutput, fake.Passed),
				settledOnce(completed("first", passed, -1)),
			},
			want: want{state: "COMPLETED", outcome: "COMPLETED", captured: creditsTaken, spent: GenerationCost, output: "RELEASABLE", posts: 1},
		},
		{
			name: "free-attempt", title: "paid by a free attempt", permitSeconds: calm,
			steps: []step{reserve(freeAttempt()), works("first"), settledOnce(delivered("first"))},
			want: want{
				state: "COMPLETED", outcome: "COMPLETED", freeAttempt: true, captured: 1, spent: GenerationCost, output: "RELEASABLE", posts: 1,
			},
		},
		{
			name: "partial-charge", title: "charged in part", permitSeconds: calm,
			steps: []step{reserve(credits()), works("first"), settledOnce(completed("first", notRequired, 4))},
			want:  want{state: "COMPLETED", outcome: "COMPLETED", captured: 4, spent: GenerationCost, output: "RELEASABLE", posts: 1},
		},
	}
}

func refusals() []scenario {
	fails := fake.GenerationScript{End: fake.TaskFailed, PendingPolls: 2, CostMicros: new(failureCost)}
	rejects := fake.CheckScript{Categories: []string{"violence"}}
	rejectedOutput := []step{
		checks(checkOf(onOutput), rejects),
		reserve(credits()), finished("first"), checked(onOutput, fake.Rejected), settledOnce(rejected("first", onOutput)),
	}
	return []scenario{
		{
			name: "provider-failed", title: "the provider fails, and charges", permitSeconds: calm,
			steps: []step{
				generations("first", fails), reserve(credits()), attempted("first", fake.Accepted), ended("first", fake.Failed),
				settledOnce(providerFailed("first")),
			},
			want: want{state: "FAILED", outcome: "PROVIDER_FAILED", spent: failureCost, output: "NONE", posts: 1},
		},
		{
			name: "provider-refused", title: "the provider refuses", permitSeconds: calm,
			steps: []step{
				generations("first", fake.GenerationScript{Answers: []fake.Answer{fake.Refuse}}),
				reserve(credits()), attempted("first", fake.Refused), settledOnce(providerFailed("first")),
			},
			want: want{state: "FAILED", outcome: "PROVIDER_FAILED", output: "NONE"},
		},
		{
			name: "rejected-input", title: "the input is rejected", permitSeconds: calm,
			steps: []step{
				checks(checkOf(onInput), fake.CheckScript{Categories: rejects.Categories, CostMicros: new(checkCost)}),
				reserve(credits()), checked(onInput, fake.Rejected), settledOnce(rejected("", onInput)),
			},
			want: want{state: "REJECTED", outcome: "POLICY_REJECTED", spent: checkCost, output: "NONE"},
		},
		{
			name: "rejected-output", title: "the output is rejected", permitSeconds: calm, provider: checksOutput,
			steps: rejectedOutput,
			want:  want{state: "REJECTED", outcome: "POLICY_REJECTED", spent: GenerationCost, output: "WITHHELD", posts: 1},
		},
		{
			name: "rejected-output-paid", title: "the output is rejected, but paid", permitSeconds: calm,
			provider: func(p *settlementv1.PutProviderRequest) { p.OutputRejectionCaptures = true },
			steps:    rejectedOutput,
			want: want{
				state: "REJECTED", outcome: "POLICY_REJECTED", captured: creditsTaken, spent: GenerationCost, output: "WITHHELD", posts: 1,
			},
		},
	}
}

// unchecked are jobs whose required check could not be had. A verdict that comes late moves nothing any more.
func unchecked() []scenario {
	return []scenario{
		{
			name: "no-input-check", title: "no input check, then a late verdict", permitSeconds: calm,
			steps: []step{
				checks(checkOf(onInput), fake.CheckScript{Answers: []fake.Answer{fake.HangAfter}}),
				reserve(credits()), checked(onInput, fake.Unavailable), settledOnce(unavailable("", onInput)),
				settled(rejected("", onInput), superseded),
			},
			want: want{state: "FAILED", outcome: "MODERATION_UNAVAILABLE", budgetHeld: true, output: "NONE"},
		},
		{
			name: "no-output-check", title: "no output check, then a late verdict", permitSeconds: calm, provider: checksOutput,
			steps: []step{
				checks(checkOf(onOutput), fake.CheckScript{Answers: []fake.Answer{fake.Garbage}}),
				reserve(credits()), finished("first"), checked(onOutput, fake.Unavailable), settledOnce(unavailable("first", onOutput)),
				settled(completed("first", passed, -1), superseded),
			},
			want: want{
				state: "FAILED", outcome: "MODERATION_UNAVAILABLE", budgetHeld: true, spent: GenerationCost, output: "WITHHELD", posts: 1,
			},
		},
	}
}

func endings() []scenario {
	return []scenario{
		{
			name: "cancelled", title: "cancelled before it was sent", permitSeconds: calm,
			steps: []step{reserve(credits()), permitted("first"), settledOnce(cancelled("first"))},
			want:  want{state: "CANCELLED", outcome: "CANCELLED", output: "NONE"},
		},
		{
			name: "cancel-waits", title: "cancelled while it runs; it fails", permitSeconds: calm,
			steps: []step{
				generations("first", fake.GenerationScript{End: fake.TaskFailed, PendingPolls: 2, CostMicros: new(failureCost)}),
				reserve(credits()), attempted("first", fake.Accepted), settled(cancelled(""), held), allHeld("PROCESSING"),
				ended("first", fake.Failed), settledOnce(providerFailed("first")),
			},
			want: want{state: "CANCELLED", outcome: "CANCELLED", spent: failureCost, output: "NONE", posts: 1},
		},
		{
			name: "expired", title: "expired by the sweep", permitSeconds: calm,
			steps: []step{reserveFor(credits(), 1), swept},
			want:  want{state: "EXPIRED", outcome: "EXPIRED", output: "NONE"},
		},
		{
			name: "two-workers", title: "poll and callback settle at once", permitSeconds: calm,
			steps: []step{
				generations("first", fake.GenerationScript{End: fake.TaskPending, CostMicros: new(failureCost)}),
				listening, reserve(credits()), attempted("first", fake.Accepted), raced("first"),
			},
			want: want{state: "FAILED", outcome: "PROVIDER_FAILED", spent: failureCost, output: "NONE", posts: 1},
		},
	}
}

// checksOutput is a provider whose output must be checked.
func checksOutput(p *settlementv1.PutProviderRequest) { p.OutputCheckRequired = true }

// takesKeys is a provider that knows an idempotency key again.
func takesKeys(p *settlementv1.PutProviderRequest) { p.IdempotencyKeySeconds = 3600 }

// swept waits until the service itself has ended the job.
func swept(ctx context.Context, j *job) error {
	return await(ctx, "the sweep", func(ctx context.Context) (bool, error) {
		h, err := j.askHolds(ctx)
		return h.State == "EXPIRED", err
	})
}
