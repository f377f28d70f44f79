package cases_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// play makes the calls of a pair on its reservation, and holds what they left against itself.
func (p *pairs) play(ctx context.Context, w way, pair string, a, b writer) (result, error) {
	id := w.id(pair)
	key := "K-" + id
	calls := []writer{a, b}
	answers := make([]proto.Message, 2)
	errs := make([]error, 2)
	one := func(n int) { answers[n], errs[n] = try(ctx, p.servers[n], calls[n].call(id, key)) }
	if a.expires || b.expires && w != between {
		p.expire(ctx, id)
	}
	switch w {
	case racing:
		var both sync.WaitGroup
		for n := range calls {
			both.Go(func() { one(n) })
		}
		both.Wait()
	default:
		one(0)
		if b.expires && w == between {
			p.expire(ctx, id)
		}
		one(1)
	}
	for _, err := range errs {
		if err != nil {
			return result{}, err
		}
	}
	resp, err := p.servers[0].Reservations.GetReservation(ctx, &settlementv1.GetReservationRequest{TenantId: apptest.Tenant, ReservationId: id})
	if err != nil {
		return result{}, err
	}
	final := resp.GetReservation()
	for n, answer := range answers {
		r := answer.(interface {
			GetReservation() *settlementv1.Reservation
		}).GetReservation()
		if r.GetOutcome() != nil && !proto.Equal(r.GetOutcome(), final.GetOutcome()) {
			return result{}, fmt.Errorf("%s was told of the end %v, and %v stands", calls[n].name, r.GetOutcome(), final.GetOutcome())
		}
	}
	if wrong := contradiction(final); wrong != "" {
		return result{}, fmt.Errorf("%s: %v", wrong, final)
	}
	return result{describe(answers[0], id), describe(answers[1], id), describe(final, id)}, nil
}

func (p *pairs) expire(ctx context.Context, id string) {
	if _, err := p.servers[0].DB.Owner().Exec(ctx,
		`UPDATE reservations SET deadline = settlement_now() - interval '1 second' WHERE reservation_id = $1`, id); err != nil {
		p.t.Error(err)
	}
}

// likeOneOrder tells whether a race went as one of the two orders of its calls goes: the same answers, and the same in the end.
func likeOneOrder(got result, orders map[string]result, pair string) error {
	first, second, _ := strings.Cut(pair, ".")
	ab, ba := orders[pair], orders[second+"."+first]
	ba.first, ba.second = ba.second, ba.first
	if got == ab || got == ba {
		return nil
	}
	return fmt.Errorf("raced to\n%+v\nwhich is neither\n%+v\nnor\n%+v", got, ab, ba)
}

// describe puts an answer or a reservation into words that do not depend on its times and ids.
func describe(m proto.Message, id string) string {
	m = proto.Clone(m)
	var r *settlementv1.Reservation
	switch m := m.(type) {
	case *settlementv1.Reservation:
		r = m
	case interface {
		GetReservation() *settlementv1.Reservation
	}:
		r = m.GetReservation()
	}
	overdue, intent := r.GetOverdueSince() != nil, r.GetCancelRequestedAt() != nil
	if r != nil {
		r.Deadline, r.DeadlineMax, r.OverdueSince, r.CancelRequestedAt, r.CreatedAt, r.UpdatedAt = nil, nil, nil, nil, nil, nil
	}
	if o := r.GetOutcome(); o != nil {
		o.SettledAt = nil
	}
	for _, l := range r.GetLines() {
		timeless(l)
	}
	switch m := m.(type) {
	case *settlementv1.BeginSubmissionResponse:
		if p := m.GetPermit(); p != nil {
			p.ExpiresInMs = 0
		}
		if l := m.GetAlreadyGranted(); l != nil {
			timeless(l)
		}
	case *settlementv1.ReportSubmissionResponse:
		timeless(m.GetLine())
		anonymous(m.GetExceptions())
	case *settlementv1.SettleResponse:
		anonymous(m.GetExceptions())
	case *settlementv1.ReconcileResponse:
		anonymous(m.GetExceptions())
	}
	text := strings.Join(strings.Fields(prototext.MarshalOptions{}.Format(m)), " ") // prototext varies its spaces
	return strings.ReplaceAll(fmt.Sprintf("%s overdue:%v intent:%v", text, overdue, intent), id, "id")
}

func timeless(l *settlementv1.Line) {
	if l == nil {
		return
	}
	l.PermittedAt, l.PermitExpiresAt, l.ResendUntil, l.UpdatedAt = nil, nil, nil, nil
	if e := l.GetLastEvidence(); e != nil {
		e.RecordedAt = nil
	}
}

func anonymous(refs []*settlementv1.ExceptionRef) {
	for _, e := range refs {
		e.ExceptionId = ""
	}
}

// contradiction tells what a reservation says that cannot be true together.
func contradiction(r *settlementv1.Reservation) string {
	open := slices.Contains([]settlementv1.ReservationState{pending, processing, uncertain}, r.GetState())
	costs, known, live := int64(0), true, pending
	for _, l := range r.GetLines() {
		costs += l.GetCost().GetAmountMicros() + l.GetCostAdjustmentMicros()
		known = known && l.GetCost() != nil
		switch l.GetKnowledge() {
		case lineUncertain:
			live = uncertain
		case settlementv1.Knowledge_KNOWLEDGE_PERMITTED, lineAccepted, lineSucceeded:
			live = processing
		default:
		}
	}
	credit, budget, kind := r.GetCredit(), r.GetBudget(), r.GetOutcome().GetKind()
	mayCapture := kind == endCompleted || kind == endRejected && r.GetOutcome().GetStage() == apptest.Output
	ended := budget.GetState() == settlementv1.BudgetState_BUDGET_STATE_ENDED
	switch {
	case open && r.GetState() != live:
		return "the state is not what the journal says"
	case open == (r.GetOutcome() != nil):
		return "an outcome goes with an end, and with nothing else"
	case open && (credit.GetState() != settlementv1.CreditState_CREDIT_STATE_HELD || r.GetSlot() != settlementv1.SlotState_SLOT_STATE_HELD || ended):
		return "an open reservation holds everything"
	case !open && (credit.GetCaptured()+credit.GetReturned() != credit.GetTaken() || r.GetSlot() != settlementv1.SlotState_SLOT_STATE_RELEASED):
		return "an ended reservation has given back or captured what it took"
	case !open && ended != known:
		return "a budget hold ends when every cost is known"
	case budget.GetKnownCostMicros() != costs:
		return "the known cost is not the sum of the lines"
	case credit.GetCaptured() > 0 && !mayCapture:
		return "nothing is captured by such an end"
	case (r.GetOutput() == settlementv1.Output_OUTPUT_RELEASABLE) != (r.GetState() == completed):
		return "an output is released by a completion only"
	}
	return ""
}
