package cases_test

import (
	"slices"
	"strings"
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// look reads every play's reservation, and finds all of the journal in it that was there before.
func (s *studio) look(t *testing.T, all []*play) {
	t.Helper()
	found := map[string]*settlementv1.Reservation{}
	for token, more := "", true; more; more = token != "" {
		req := &settlementv1.ListReservationsRequest{TenantId: apptest.Tenant, PageSize: new(int32(500)), PageToken: token}
		page, err := s.Reservations.ListReservations(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.GetReservations() {
			found[r.GetReservationId()] = r
		}
		token = page.GetNextPageToken()
	}
	for _, p := range all {
		wantPreserved(t, p.now, found[p.job.id])
		p.now = found[p.job.id]
	}
}

// wantPreserved finds every line of an earlier journal in a later one: its identity is the same, its cost and task once known never change,
// and what is known of it has not become less.
func wantPreserved(t *testing.T, before, after *settlementv1.Reservation) {
	t.Helper()
	for _, was := range before.GetLines() {
		l := findLine(after, was.GetRequestKey())
		switch {
		case l == nil:
			t.Errorf("%s has lost line %s", after.GetReservationId(), was.GetRequestKey())
			continue
		case l.GetKind() != was.GetKind() || l.GetStage() != was.GetStage() || !l.GetPermittedAt().AsTime().Equal(was.GetPermittedAt().AsTime()):
			t.Errorf("line %s was another request: %v, now %v", was.GetRequestKey(), was, l)
		case was.GetProviderTaskId() != "" && l.GetProviderTaskId() != was.GetProviderTaskId():
			t.Errorf("line %s was task %s, now %s", was.GetRequestKey(), was.GetProviderTaskId(), l.GetProviderTaskId())
		case was.GetCost() != nil && l.GetCost().GetAmountMicros() != was.GetCost().GetAmountMicros():
			t.Errorf("line %s cost %v, now %v", was.GetRequestKey(), was.GetCost(), l.GetCost())
		}
		if k := was.GetKnowledge(); l.GetKnowledge() < k || k > lineAccepted && l.GetKnowledge() != k {
			t.Errorf("line %s was known to be %v, now %v", was.GetRequestKey(), k, l.GetKnowledge())
		}
	}
}

// audit compares how all plays ended with what had to come of them, and the ledger with the provider.
func (s *studio) audit(t *testing.T, all []*play) {
	t.Helper()
	credits, attempts, runs := int64(apptest.Credits+plenty), int64(apptest.Attempts+plenty), int64(0)
	for _, p := range all {
		r := p.now
		runs += s.auditJob(t, p, r)
		switch {
		case r.GetState() != completed:
		case p.job.free:
			attempts--
		default:
			credits -= 10
		}
	}
	charged := int64(0)
	for _, micros := range s.statement {
		charged += micros
	}
	s.WantBooks(t, apptest.Books{Credits: credits, Attempts: attempts, Spent: charged})
	is(t, "paid generations", s.provider.Totals().Generations.Paid, runs)
}

// auditJob counts the paid work that the provider did for a job.
func (s *studio) auditJob(t *testing.T, p *play, r *settlementv1.Reservation) int64 {
	t.Helper()
	end, runs := p.wanted()
	if s.window > 0 && p.refusedForMoney() {
		end, runs = endGivenUp, false
	}
	kind := r.GetOutcome().GetKind()
	if kind == endExpired && p.job.life < permitTime {
		end, runs = kind, false
	}
	paid, want := int64(0), int64(0)
	for _, l := range r.GetLines() {
		paid += s.auditLine(t, p, l)
	}
	if runs {
		want = 1
	}
	if paid != want || kind != end {
		t.Errorf("%s ended %v with %d paid generations, want %v with %d: %v", p, kind, paid, end, want, p.effects)
	}
	wantHolds(t, p, r, runs)
	for _, e := range s.Exceptions(t, p.job.id) {
		if !p.mayDisagree() {
			t.Errorf("%s left %+v", p, e)
		}
	}
	return paid
}

// auditLine finds that a request was sent no more often than permitted, and that the ledger and the provider agree on its cost.
func (s *studio) auditLine(t *testing.T, p *play, l *settlementv1.Line) (paid int64) {
	t.Helper()
	counts := s.provider.Counts(l.GetRequestKey())
	if sent := counts.Generations.Received + counts.Checks.Received; sent > 1 && sent > 1+s.Entries(t, p.job.id, "RESENT") {
		t.Errorf("%s: %s was sent %d times, and not permitted so often", p, l.GetRequestKey(), sent)
	}
	if cost := l.GetCost(); cost == nil || cost.GetAmountMicros()+l.GetCostAdjustmentMicros() != s.statement[l.GetRequestKey()] {
		t.Errorf("%s: %s cost %v, and the provider says %d", p, l.GetRequestKey(), cost, s.statement[l.GetRequestKey()])
	}
	return counts.Generations.Paid
}

// mayDisagree tells whether somebody can bring a fact that the ledger cannot take: a worker that wakes after the end, or a refusal that
// cost money, or was the answer to a resend, and that nobody heard in time.
func (p *play) mayDisagree() bool {
	refuses := slices.Contains(p.by.first.Answers, fakeprovider.Refuse)
	return p.how == frozen && (refuses || p.job.inputCheck) || p.how != undisturbed && refuses
}

// refusedForMoney tells whether a worker slept before the POST of a request, or with the answer to it, that the provider refuses for money.
// If another one sends it again meanwhile, the refusal does not close the attempt, and what it cost lets nobody say that it never arrived.
func (p *play) refusedForMoney() bool {
	if p.how != napping || p.effects[p.at] != "POST" && p.effects[p.at] != "report" {
		return false
	}
	script := p.by.first
	if n := slices.Index(p.effects, "report"); n < p.at && slices.Contains(p.effects[n:p.at+1], "POST") {
		script = p.by.later
	}
	return script.Refusal.CostMicros > 0 && !script.HideCost
}

// wantHolds compares the customer's side of an ended job: only a completed one is paid and delivered.
func wantHolds(t *testing.T, p *play, r *settlementv1.Reservation, ran bool) {
	t.Helper()
	credit, output := settlementv1.CreditState_CREDIT_STATE_RETURNED, settlementv1.Output_OUTPUT_NONE
	switch {
	case r.GetState() == completed:
		credit, output = settlementv1.CreditState_CREDIT_STATE_CAPTURED, settlementv1.Output_OUTPUT_RELEASABLE
	case ran && r.GetOutcome().GetKind() != endProviderFailed, r.GetOutcome().GetKind() == endGivenUp:
		output = settlementv1.Output_OUTPUT_WITHHELD
	}
	if r.GetCredit().GetState() != credit || r.GetOutput() != output || r.GetSlot() != settlementv1.SlotState_SLOT_STATE_RELEASED ||
		r.GetBudget().GetState() != settlementv1.BudgetState_BUDGET_STATE_ENDED {
		t.Errorf("%s: %v, %v, %v, %v, want %v and %v, all over", p, r.GetCredit(), r.GetSlot(), r.GetBudget(), r.GetOutput(), credit, output)
	}
}

// wanted is how a play must end, and whether the provider does paid work for it. A check whose verdict got lost with its worker, or on its
// way, cannot be had: the customer goes free.
func (p *play) wanted() (settlementv1.OutcomeKind, bool) {
	if p.how == undisturbed || p.at >= len(p.effects) {
		return p.by.end, p.by.runs
	}
	lost := p.effects[p.at]
	if p.at > 0 && p.how != deaf && strings.HasPrefix(p.effects[p.at-1], "POST ") {
		lost = p.effects[p.at-1]
	}
	if p.how == napping || !strings.HasPrefix(lost, "POST ") {
		return p.by.end, p.by.runs
	}
	return endUnavailable, lost == "POST OUTPUT"
}
