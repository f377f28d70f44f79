package cases_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// writer is one call on a reservation whose generation has the key.
type writer struct {
	name    string
	expires bool // the deadline passes before the call, or before both where two race
	call    func(id, key string) proto.Message
}

// writers are every outcome, expiry, every evidence, every report, and what else moves a reservation.
func writers() []writer {
	checked := func(c settlementv1.EvidenceOutputCheck) func(id, key string) proto.Message {
		return func(id, key string) proto.Message {
			return apptest.Proof(id, key, apptest.Succeeded(c, apptest.Money(90)))
		}
	}
	renewed := func(id, key string) proto.Message {
		e := apptest.Running("task-" + id)
		e.TtlSeconds = new(int64(7200))
		return apptest.Proof(id, key, e)
	}
	settle := func(outcome any, change ...func(*settlementv1.SettleRequest)) func(id, key string) proto.Message {
		return func(id, key string) proto.Message { return apptest.Settlement(id, key, outcome, change...) }
	}
	keyless := func(outcome any, sent bool) func(id, key string) proto.Message {
		return func(id, key string) proto.Message {
			if sent {
				return apptest.Settlement(id, "", outcome)
			}
			return apptest.Settlement(id, "", outcome, apptest.NotSent(key))
		}
	}
	prove := func(kind any) func(id, key string) proto.Message {
		return func(id, key string) proto.Message { return apptest.Proof(id, key, kind) }
	}
	report := func(fact any) func(id, key string) proto.Message {
		return func(id, key string) proto.Message { return apptest.Report(id, key, fact) }
	}
	return []writer{
		{"completed", false, settle(apptest.Completed(apptest.Money(90)))},
		{"completed for a part", false, settle(apptest.Charged(3, nil))},
		{"provider_failed", false, settle(apptest.Failed(apptest.Money(37)))},
		{"policy_rejected OUTPUT", false, settle(apptest.Rejected(apptest.Output, nil))},
		{"policy_rejected INPUT", false, keyless(apptest.Rejected(apptest.Input, nil), true)},
		{"policy_rejected INPUT, not sent", false, keyless(apptest.Rejected(apptest.Input, nil), false)},
		{"moderation_unavailable OUTPUT", false, settle(apptest.Unavailable(apptest.Output))},
		{"moderation_unavailable INPUT", false, keyless(apptest.Unavailable(apptest.Input), true)},
		{"moderation_unavailable INPUT, not sent", false, keyless(apptest.Unavailable(apptest.Input), false)},
		{"submission_uncertain", false, settle(apptest.Uncertain())},
		{"cancelled", false, keyless(apptest.Cancelled(), true)},
		{"cancelled, not sent", false, keyless(apptest.Cancelled(), false)},
		{"expiry", true, func(id, _ string) proto.Message { return apptest.Resend(id, "never-permitted-"+id) }},
		{"accepted", false, func(id, key string) proto.Message { return apptest.Proof(id, key, apptest.Running("task-"+id)) }},
		{"accepted for longer", false, renewed},
		{"not_received", false, prove(apptest.NotReceived())},
		{"not_received, resume", false, prove(apptest.Resumed(7200))},
		{"succeeded, PASSED", false, checked(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_PASSED)},
		{"succeeded, NOT_REQUIRED", false, checked(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_NOT_REQUIRED)},
		{"succeeded, REJECTED", false, checked(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_REJECTED)},
		{"succeeded, UNAVAILABLE", false, checked(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_UNAVAILABLE)},
		{"succeeded, NOT_DONE", false, checked(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_NOT_DONE)},
		{"failed", false, prove(apptest.FailedThere(nil))},
		{"cost_confirmed", false, prove(apptest.Costs(12))},
		{"nothing_charged", false, prove(apptest.Free())},
		{"given_up", false, prove(apptest.GivenUp())},
		{"still_unknown", false, prove(apptest.StillUnknown(settlementv1.UncertainCause_UNCERTAIN_CAUSE_TIMEOUT))},
		{"reported accepted", false, func(id, key string) proto.Message { return apptest.Report(id, key, apptest.Accepted("task-"+id)) }},
		{"reported not_accepted", false, report(apptest.NotAccepted(nil))},
		{"reported not_sent", false, func(id, key string) proto.Message { return apptest.Report(id, key, apptest.Unsent(key)) }},
		{"reported succeeded", false, report(apptest.EndedWell(apptest.Money(90)))},
		{"reported failed", false, report(apptest.EndedBadly(apptest.Money(5)))},
		{"a second permit", false, func(id, key string) proto.Message { return apptest.Submission(id, key+"-2") }},
		{"an extension", false, func(id, _ string) proto.Message {
			return &settlementv1.ExtendReservationRequest{TenantId: apptest.Tenant, ReservationId: id, TtlSeconds: 7200}
		}},
	}
}

// pairs plays two writers against each other, over and over.
type pairs struct {
	t       *testing.T
	servers []*apptest.Service
}

// way is how two calls can be put together.
type way int

const (
	between way = iota // one after the other; the deadline that the second needs passes between them
	inOrder            // one after the other; a deadline that either needs passes first
	racing             // at once, through two servers
)

// ways are those in which two calls can be put together. Only a deadline makes a difference between the first two.
func ways(b writer) []way {
	if b.expires {
		return []way{between, inOrder, racing}
	}
	return []way{inOrder, racing}
}

// result is what two calls answered, in the order of the pair, and what stands afterwards.
type result struct{ first, second, final string }

// TestCase17EveryPairOfWriters plays every ordered pair in sequence, and racing. After each the books of the reservation must agree, an end must
// stand, and a race must have gone as one of the two orders goes.
func TestCase17EveryPairOfWriters(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) {
		r.OutputRejectionCaptures, r.BudgetLimitMicros = true, 1_000_000_000
	})
	defer s.Verify(t)
	manySlots(t, s)
	p := &pairs{t, []*apptest.Service{s, apptest.On(t, s.DB)}}
	all := writers()
	s.TurnClock(-time.Hour) // every permit is over, and evidence no longer too early, once the clock is right again
	p.forEach(all, func(ctx context.Context, id string, _, b writer) error {
		for _, w := range ways(b) {
			req := apptest.Reserve(w.id(id), "K-"+w.id(id), credits(10), micros(20), ttl(7200))
			if resp, err := try(ctx, s, req); err != nil || resp.(*settlementv1.ReserveResponse).GetGranted() == nil {
				return fmt.Errorf("reserve: %v, %w", resp, err)
			}
		}
		return nil
	})
	s.TurnClock(0)

	var mu sync.Mutex
	results := map[string]result{}
	for _, w := range []way{between, inOrder, racing} {
		p.forEach(all, func(ctx context.Context, id string, a, b writer) error {
			if !slices.Contains(ways(b), w) {
				return nil
			}
			got, err := p.play(ctx, w, id, a, b)
			if w == inOrder {
				mu.Lock()
				defer mu.Unlock()
				results[id] = got
				return err
			}
			if w == racing && err == nil {
				err = likeOneOrder(got, results, id)
			}
			return err
		})
	}
}

// id names the reservation of a pair.
func (w way) id(pair string) string { return fmt.Sprint(pair, "/", int(w)) }

// forEach does something for every ordered pair, many at once.
func (p *pairs) forEach(all []writer, do func(ctx context.Context, id string, a, b writer) error) {
	p.t.Helper()
	group, ctx := errgroup.WithContext(p.t.Context())
	group.SetLimit(32)
	for i, a := range all {
		for j, b := range all {
			group.Go(func() error {
				if err := do(ctx, fmt.Sprintf("%d.%d", i, j), a, b); err != nil {
					p.t.Errorf("%s; %s: %v", a.name, b.name, err)
				}
				return ctx.Err()
			})
		}
	}
	if err := group.Wait(); err != nil {
		p.t.Fatal(err)
	}
}
