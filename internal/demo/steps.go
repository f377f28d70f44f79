package demo

import (
	"context"
	"fmt"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

func credits() *settlementv1.Funding {
	return &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: creditsTaken}}
}

func freeAttempt() *settlementv1.Funding {
	return &settlementv1.Funding{Source: &settlementv1.Funding_FreeAttempt{FreeAttempt: &settlementv1.FreeAttempt{}}}
}

// reserve takes the three holds.
func reserve(funding *settlementv1.Funding) step { return reserveFor(funding, 600) }

func reserveFor(funding *settlementv1.Funding, ttlSeconds int64) step {
	return func(ctx context.Context, j *job) error {
		a, err := j.clients.reservations.Reserve(ctx, j.reserveRequest(funding, ttlSeconds))
		if err != nil {
			return fmt.Errorf("reserve: %w", err)
		}
		if a.GetGranted() == nil {
			return fmt.Errorf("reserve: %v, want granted", a.Result)
		}
		return nil
	}
}

func (j *job) reserveRequest(funding *settlementv1.Funding, ttlSeconds int64) *settlementv1.ReserveRequest {
	return &settlementv1.ReserveRequest{
		TenantId: Tenant, ReservationId: j.reservation, AccountId: j.scenario.name, ProviderId: j.scenario.name,
		Funding: funding, BudgetMicros: budgetTaken, Currency: currency, TtlSeconds: &ttlSeconds,
	}
}

// generations scripts what the provider makes of an attempt.
func generations(label string, script fakeprovider.GenerationScript) step {
	return func(_ context.Context, j *job) error {
		return j.stage.config.Provider.ScriptGeneration(j.key(label), script)
	}
}

// checks scripts what the checker makes of a check.
func checks(label string, script fakeprovider.CheckScript) step {
	return func(_ context.Context, j *job) error {
		return j.stage.config.Provider.ScriptCheck(j.key(label), script)
	}
}

// permitted asks for the permit of an attempt.
func permitted(label string) step {
	return func(ctx context.Context, j *job) error {
		key := j.generation(label)
		p, err := j.beginGeneration(ctx, key)
		j.permits[key] = p
		return err
	}
}

// submitted sends the POST of an attempt and reports what it taught.
func submitted(label string, want fakeprovider.Fact) step {
	return func(ctx context.Context, j *job) error {
		p := j.permits[j.key(label)]
		got, err := j.post(ctx, p)
		if err != nil {
			return err
		}
		if err := j.reportPost(ctx, p, got); err != nil {
			return err
		}
		if got.Fact != want {
			return fmt.Errorf("post %s: %s, want %s", p.key, got.Fact, want)
		}
		return nil
	}
}

// lost sends the POST of an attempt and learns nothing for sure.
func lost(label string) step {
	return func(ctx context.Context, j *job) error {
		key := j.key(label)
		got, err := j.post(ctx, j.permits[key])
		if err != nil {
			return err
		}
		if got.Fact != fakeprovider.Uncertain {
			return fmt.Errorf("post %s: %s, want UNCERTAIN", key, got.Fact)
		}
		j.causes[key] = got.Cause
		return nil
	}
}

// attempted takes a permit and uses it.
func attempted(label string, want fakeprovider.Fact) step {
	return inOrder(permitted(label), submitted(label, want))
}

// permittedAgain asks for the permit to send an attempt once more, under its own key.
func permittedAgain(label string) step {
	return func(ctx context.Context, j *job) error {
		key := j.key(label)
		p, err := j.beginResend(ctx, key)
		j.permits[key] = p
		return err
	}
}

// ended asks the provider about an attempt until it has ended so.
func ended(label string, want fakeprovider.Fact) step {
	return func(ctx context.Context, j *job) error {
		key := j.key(label)
		return await(ctx, fmt.Sprintf("%s of %s", want, key), func(ctx context.Context) (bool, error) {
			got := j.stage.provider.Lookup(ctx, key)
			j.seen[key] = got
			switch got.Fact {
			case want:
				return true, nil
			case fakeprovider.Succeeded, fakeprovider.Failed:
				return false, fmt.Errorf("%s: %s, want %s", key, got.Fact, want)
			default:
				return false, nil
			}
		})
	}
}

// works is an attempt of which everything goes well.
func works(label string) step {
	return inOrder(attempted(label, fakeprovider.Accepted), ended(label, fakeprovider.Succeeded))
}

// finished is an attempt that works, and the service knows: only then is there an output to check.
func finished(label string) step {
	return inOrder(works(label), func(ctx context.Context, j *job) error {
		key := j.key(label)
		return j.report(ctx, &settlementv1.ReportSubmissionRequest{
			RequestKey: key, Fact: succeeded(money(j.seen[key].Cost)),
		})
	})
}

func succeeded(cost *settlementv1.Money) *settlementv1.ReportSubmissionRequest_Ended {
	return &settlementv1.ReportSubmissionRequest_Ended{
		Ended: &settlementv1.EndedReport{End: settlementv1.ReportedEnd_REPORTED_END_SUCCEEDED, Cost: cost},
	}
}

// checked sends a check and reports its verdict. One that brought none is not reported: that is for the outcome to say.
func checked(stage settlementv1.Stage, want fakeprovider.Fact) step {
	return func(ctx context.Context, j *job) error {
		key, from := j.key(checkOf(stage)), j.stage.provider
		if want == fakeprovider.Unavailable {
			from = j.stage.hasty
		}
		p, err := j.beginCheck(ctx, key, stage)
		if err != nil {
			return err
		}
		got, err := j.postCheck(ctx, from, p, stage)
		if err != nil {
			return err
		}
		j.verdicts[key] = got
		if got.Fact != want {
			return fmt.Errorf("check %s: %s %s, want %s", key, got.Fact, got.Cause, want)
		}
		if got.Fact == fakeprovider.Unavailable {
			return nil
		}
		return j.report(ctx, &settlementv1.ReportSubmissionRequest{RequestKey: key, Fact: succeeded(money(got.Cost))})
	}
}

const (
	onInput  = settlementv1.Stage_STAGE_INPUT
	onOutput = settlementv1.Stage_STAGE_OUTPUT
)

// checkOf is the label of the check of a stage.
func checkOf(stage settlementv1.Stage) string {
	if stage == onInput {
		return "input-check"
	}
	return "output-check"
}

// inOrder is several steps as one.
func inOrder(steps ...step) step {
	return func(ctx context.Context, j *job) error {
		for _, s := range steps {
			if err := s(ctx, j); err != nil {
				return err
			}
		}
		return nil
	}
}
