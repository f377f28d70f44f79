package servicetest

import (
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/oracle"
)

// view shows a reservation as the page would; its times are seconds since the actor's first step.
func (a *actor) view(r *settlementv1.Reservation) oracle.View {
	out := oracle.View{
		oracle.State: word(r.GetState(), "RESERVATION_STATE_"), oracle.Credit: word(r.GetCredit().GetState(), "CREDIT_STATE_"),
		oracle.Slot: word(r.GetSlot(), "SLOT_STATE_"), oracle.Budget: word(r.GetBudget().GetState(), "BUDGET_STATE_"),
		oracle.Output: word(r.GetOutput(), "OUTPUT_"), oracle.Deadline: a.since(r.GetDeadline()),
	}
	if o := r.GetOutcome(); o != nil {
		out[oracle.Outcome] = word(o.GetKind(), "OUTCOME_KIND_")
		if o.GetStage() != 0 && o.GetKind() != settlementv1.OutcomeKind_OUTCOME_KIND_CANCELLED {
			out[oracle.Outcome] += ":" + word(o.GetStage(), "STAGE_")
		}
	}
	if c := r.GetCredit(); c.GetState() == settlementv1.CreditState_CREDIT_STATE_CAPTURED && c.GetCaptured() < c.GetTaken() {
		out[oracle.Credit] += ":" + strconv.FormatInt(c.GetCaptured(), 10)
	}
	mark(out, oracle.Overdue, "MARKED", r.GetOverdueSince() != nil)
	mark(out, oracle.Cancel, "ASKED", r.GetCancelRequestedAt() != nil)
	for _, l := range r.GetLines() {
		for _, part := range oracle.Parts {
			if a.cast.RequestKey(part) == l.GetRequestKey() {
				a.viewLine(out, part, l)
			}
		}
	}
	return out
}

func (a *actor) viewLine(out oracle.View, part oracle.Part, l *settlementv1.Line) {
	out[string(part)] = word(l.GetKnowledge(), "KNOWLEDGE_")
	out[part.Permit()] = a.since(l.GetPermitExpiresAt())
	if l.GetCost() != nil {
		out[part.Cost()] = strconv.FormatInt(l.GetCost().GetAmountMicros(), 10)
	}
	mark(out, part.Task(), "KNOWN", l.GetProviderTaskId() != "")
	mark(out, part.Resent(), "YES", l.GetResentAt() != nil)
	mark(out, part.Evidence(), "KEPT", l.GetLastEvidence().GetKind() == settlementv1.EvidenceKind_EVIDENCE_KIND_STILL_UNKNOWN)
}

func mark(out oracle.View, name, value string, is bool) {
	if is {
		out[name] = value
	}
}

// since is a time in seconds since the actor's first step. The clock stands still while calls are made, so nothing is lost of it.
func (a *actor) since(t *timestamppb.Timestamp) string {
	return strconv.FormatInt(int64(t.AsTime().Sub(moment(a.start))/time.Second), 10)
}
