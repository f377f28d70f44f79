package ledger

import (
	"testing"
	"time"
)

// prove brings evidence about a line of R.
func (w *world) prove(in Proof, reference string) Answer {
	w.t.Helper()
	in.Reservation, in.Source = "R", Source{Kind: "OPERATOR", Reference: reference}
	a, err := Decide(w.book, func(b *Book) (Answer, error) { return b.Reconcile(in) })
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// Evidence that a check was taken is no reason to let its reservation live longer.
func TestEvidenceOfACheckGivesNoTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Policy{})
	w.reserve("R", "")
	_, err := Decide(w.book, func(b *Book) (PermitAnswer, error) {
		return b.BeginSubmission(BeginSubmission{Reservation: "R", Key: "C", Token: "t", Kind: Moderation, Stage: InputStage, CheckTimeoutSeconds: 5})
	})
	if err != nil {
		t.Fatal(err)
	}
	ttl := int64(3000)
	a := w.prove(Proof{Key: "C", Kind: ProofAccepted, Task: "T", TTLSeconds: &ttl}, "a")
	if a.Disposition != Refused || a.Refused != NotAGeneration || !a.View.Deadline.Equal(start.Add(time.Minute)) {
		t.Errorf("%s %s, and the deadline is %v", a.Disposition, a.Refused, a.View.Deadline)
	}
	if a = w.prove(Proof{Key: "C", Kind: ProofAccepted, Task: "T"}, "b"); a.Disposition != Applied {
		t.Errorf("without a time: %s %s", a.Disposition, a.Refused)
	}
}

// An answer shows the evidence that the ledger keeps: the last that moved the line, or that was tried in vain.
func TestAnswersShowTheEvidenceThatIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Policy{})
	w.reserve("R", "K")
	for _, step := range []struct {
		name string
		in   Proof
		want string
	}{
		{"a cost", Proof{Kind: ProofCostConfirmed, Cost: usd(5)}, "a cost"},
		{"the same cost", Proof{Kind: ProofCostConfirmed, Cost: usd(5)}, "a cost"},
		{"another cost", Proof{Kind: ProofCostConfirmed, Cost: usd(6)}, "a cost"},
		{"tried in vain", Proof{Kind: ProofStillUnknown, Reason: "TIMEOUT"}, "tried in vain"},
		{"too early", Proof{Kind: ProofNotReceived}, "tried in vain"},
		{"accepted", Proof{Kind: ProofAccepted, Task: "T"}, "accepted"},
		{"accepted again", Proof{Kind: ProofAccepted, Task: "T"}, "accepted"},
	} {
		step.in.Key = "K"
		a := w.prove(step.in, step.name)
		shown, kept := a.View.Lines[0].Evidence, w.book.lines.get("K").Evidence
		if shown.Source.Reference != step.want || kept.Source.Reference != step.want {
			t.Errorf("%s: %s shows evidence %q, the ledger keeps %q", step.name, a.Disposition, shown.Source.Reference, kept.Source.Reference)
		}
	}
}
