package oracle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/settlementd/settlementd/internal/oracle"
)

// TestSense holds every cell against what is true of all of them, whatever the call: a slip of the pen shows here and not in the
// code that is judged by the table.
func TestSense(t *testing.T) {
	t.Parallel()
	for _, cell := range readTable(t).Cells {
		before := cell.Situation.Stands
		after := cell.Moves.After(before, 0)
		for _, sense := range senses {
			if wrong := sense(cell, before, after); wrong != "" {
				t.Errorf("%s:%d: %s: %s (%s; %v %v)", oracle.PageName, cell.Line, cell.Name(), wrong, cell.Answer, cell.Moves.Changes,
					cell.Moves.Events)
			}
		}
	}
}

// senses answer what is wrong with a cell, or nothing.
var senses = []func(cell oracle.Cell, before, after oracle.View) string{
	nothingMovesWithoutAChange, stateFollowsTheJournal, holdsFollowTheState, budgetEndsWithTheLastCost, outputFollowsTheJournal,
	knowledgeGrows, costsAreKnownOnce, theEndIsForEver, nothingWaitsForNothing, answersTellTheTruth, eventsNameTheChange,
	acceptedHasATask,
}

var generations = []oracle.Part{oracle.First, oracle.Key, oracle.NewKey}

func unresolved(knowledge string) bool {
	return knowledge == "PERMITTED" || knowledge == "UNCERTAIN" || knowledge == "ACCEPTED"
}

func terminal(v oracle.View) bool {
	return slices.Contains([]string{"COMPLETED", "FAILED", "REJECTED", "CANCELLED", "EXPIRED"}, v[oracle.State])
}

// known is what is known of the generation lines.
func known(v oracle.View) []string {
	var out []string
	for _, part := range generations {
		if k := v[string(part)]; k != "" {
			out = append(out, k)
		}
	}
	return out
}

// unsettled tells whether a paid request may be alive, or its result is there.
func unsettled(v oracle.View) bool {
	return slices.ContainsFunc(known(v), func(k string) bool { return unresolved(k) || k == "SUCCEEDED" })
}

func nothingMovesWithoutAChange(cell oracle.Cell, before, _ oracle.View) string {
	moved := 0
	for name, value := range cell.Moves.Changes {
		if before[name] == value && name != oracle.Deadline && !strings.HasSuffix(name, ".permit") {
			return name + " is said to move and does not"
		}
		if !strings.HasSuffix(name, ".evidence") && name != oracle.Another {
			moved++
		}
	}
	took := len(cell.Moves.Events) > 0
	backAndForth := len(cell.Moves.Events) == 2 // an overdue mark that the second change takes away again
	if took != (moved > 0) && !backAndForth {
		return "a change has an event, and an event has a change"
	}
	if cell.Answer.Word == "STATUS" && (took || len(cell.Moves.Changes) > 0 || len(cell.Moves.Exceptions) > 0) {
		return "a status writes nothing"
	}
	return ""
}

func stateFollowsTheJournal(_ oracle.Cell, _, after oracle.View) string {
	if len(after) == 0 || after[oracle.State] == "" || terminal(after) {
		return ""
	}
	want := "PENDING"
	for _, k := range known(after) {
		switch {
		case k == "UNCERTAIN":
			want = "UNCERTAIN"
		case unresolved(k) || k == "SUCCEEDED":
			want = "PROCESSING"
		}
	}
	if after[oracle.State] != want {
		return "the journal means " + want
	}
	return ""
}

func holdsFollowTheState(_ oracle.Cell, _, after oracle.View) string {
	if after[oracle.State] == "" {
		return ""
	}
	ended := terminal(after)
	if ended == (after[oracle.Outcome] == "") || ended != (after[oracle.Slot] == "RELEASED") || ended == (after[oracle.Credit] == "HELD") {
		return "outcome, slot and credit do not fit the state"
	}
	kind, _, _ := strings.Cut(after[oracle.Outcome], ":")
	state := map[string]string{
		"": after[oracle.State], "COMPLETED": "COMPLETED", "POLICY_REJECTED": "REJECTED", "CANCELLED": "CANCELLED", "EXPIRED": "EXPIRED",
		"PROVIDER_FAILED": "FAILED", "MODERATION_UNAVAILABLE": "FAILED", "NOT_RECEIVED": "FAILED", "GIVEN_UP": "FAILED",
	}[kind]
	captured := strings.HasPrefix(after[oracle.Credit], "CAPTURED")
	if state != after[oracle.State] || (kind == "COMPLETED") != captured && after[oracle.Outcome] != "POLICY_REJECTED:OUTPUT" {
		return "the outcome does not fit the state, or the capture"
	}
	return ""
}

func budgetEndsWithTheLastCost(_ oracle.Cell, _, after oracle.View) string {
	all := terminal(after)
	for _, part := range oracle.Parts {
		k, cost := after[string(part)], after[part.Cost()]
		if k != "" && cost == "" {
			all = false
		}
		if (k == "NOT_SENT" || k == "NOT_RECEIVED") && cost != "0" {
			return "what never ran costs nothing"
		}
	}
	if after[oracle.State] != "" && all != (after[oracle.Budget] == "ENDED") {
		return "the budget hold ends when the job and its costs are known, and not before"
	}
	return ""
}

func outputFollowsTheJournal(_ oracle.Cell, _, after oracle.View) string {
	want := "NONE"
	switch {
	case after[oracle.State] == "":
		return ""
	case after[oracle.State] == "COMPLETED":
		want = "RELEASABLE"
	case unsettled(after):
		want = "WITHHELD"
	}
	if after[oracle.Output] != want {
		return "the output is " + want
	}
	return ""
}

func knowledgeGrows(_ oracle.Cell, before, after oracle.View) string {
	rank := map[string]int{"": 0, "PERMITTED": 1, "UNCERTAIN": 2, "ACCEPTED": 3}
	for _, part := range oracle.Parts {
		was, is := before[string(part)], after[string(part)]
		if was == is {
			continue
		}
		if was != "" && !unresolved(was) {
			return string(part) + " was final"
		}
		if unresolved(is) && rank[is] < rank[was] {
			return string(part) + " is forgotten"
		}
		dead := slices.Contains([]string{"NOT_SENT", "NOT_ACCEPTED", "NOT_RECEIVED"}, is)
		if cost := before[part.Cost()]; dead && (was == "ACCEPTED" || cost != "" && cost != "0") {
			return string(part) + " ran, and has not run"
		}
		if (is == "NOT_SENT" || is == "NOT_ACCEPTED") && before[part.Resent()] == "YES" {
			return string(part) + " was sent again"
		}
	}
	return ""
}

func costsAreKnownOnce(_ oracle.Cell, before, after oracle.View) string {
	for _, part := range oracle.Parts {
		for _, name := range []string{part.Cost(), part.Task(), part.Resent(), part.Evidence()} {
			if before[name] != "" && before[name] != after[name] {
				return name + " changes"
			}
			if after[name] != "" && after[string(part)] == "" {
				return name + " of no line"
			}
		}
	}
	return ""
}

func theEndIsForEver(cell oracle.Cell, before, after oracle.View) string {
	if !terminal(before) {
		return ""
	}
	for _, name := range []string{oracle.State, oracle.Outcome, oracle.Credit, oracle.Slot, oracle.Overdue, oracle.Cancel} {
		if before[name] != after[name] {
			return name + " moves after the end"
		}
	}
	if cell.Moves.Changes[oracle.Deadline] != "" {
		return "a deadline after the end"
	}
	return ""
}

func nothingWaitsForNothing(_ oracle.Cell, _, after oracle.View) string {
	waits := after[oracle.Cancel] != "" || after[oracle.Overdue] != ""
	if waits && !terminal(after) && !unsettled(after) {
		return "overdue, or with a cancel intent, and nothing to wait for"
	}
	return ""
}

func acceptedHasATask(_ oracle.Cell, _, after oracle.View) string {
	for _, part := range oracle.Parts {
		if after[string(part)] == "ACCEPTED" && after[part.Task()] == "" {
			return string(part) + " is accepted and has no task"
		}
	}
	return ""
}

// answersTellTheTruth leaves out what an expiry moved on the way.
func answersTellTheTruth(cell oracle.Cell, before, after oracle.View) string {
	own := len(cell.Moves.Events)
	if cell.Situation.Swept != "" && cell.Answer.Word != "STATUS" && cell.Call.RPC != "Sweep" && own > 0 {
		own--
	}
	kept := cell.Moves.Changes[cell.Call.Part.Evidence()] != ""
	switch cell.Answer.Word {
	case "APPLIED", "RESEND", "SWEPT":
		if own == 0 && !kept {
			return "applied, and nothing moves"
		}
	case "REPLAYED", "ALREADY_GRANTED", "NOTHING":
		if own > 0 || kept {
			return "said to stand already, and moves"
		}
	case "HELD", "REFUSED":
		for _, name := range []string{oracle.Outcome, oracle.Credit, oracle.Slot} {
			if cell.Situation.Swept == "" && before[name] != after[name] {
				return cell.Answer.Word + " and yet " + name + " moves"
			}
		}
	case "SUPERSEDED":
		if !terminal(after) {
			return "superseded by nothing"
		}
	}
	return ""
}

// eventsNameTheChange: the change that ends a job has the event of its outcome, and no other change has.
func eventsNameTheChange(cell oracle.Cell, before, after oracle.View) string {
	ended := []string{
		"COMPLETED", "PROVIDER_FAILED", "POLICY_REJECTED", "MODERATION_UNAVAILABLE", "CANCELLED", "EXPIRED", "NOT_RECEIVED", "GIVEN_UP",
	}
	want := ""
	if before[oracle.Outcome] != after[oracle.Outcome] {
		want, _, _ = strings.Cut(after[oracle.Outcome], ":")
	}
	got := ""
	for _, event := range cell.Moves.Events {
		if slices.Contains(ended, event) {
			got += event
		}
	}
	if got != want {
		return "the end and its event differ"
	}
	learnt := slices.Contains(cell.Moves.Events, "COST_RECORDED")
	for _, part := range oracle.Parts {
		if learnt && (before[string(part)] != after[string(part)] && cell.Situation.Swept == "" || before[part.Task()] != after[part.Task()]) {
			return "more than a cost was learnt"
		}
	}
	return ""
}
