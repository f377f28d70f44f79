package demo

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// TestEveryOutcomeIsPlayed holds the list of scenarios against the outcomes of the API.
func TestEveryOutcomeIsPlayed(t *testing.T) {
	played := map[string]bool{}
	for _, sc := range scenarios() {
		if played[sc.name] {
			t.Errorf("two scenarios are called %s", sc.name)
		}
		played[sc.name], played[sc.want.outcome], played[sc.want.state], played[sc.want.output] = true, true, true, true
		if sc.want.posts > 1 {
			t.Errorf("%s pays for %d generations", sc.name, sc.want.posts)
		}
	}
	for _, enum := range []struct {
		prefix string
		names  map[int32]string
		open   []string // the states of a job that is not over
	}{
		{"OUTCOME_KIND_", settlementv1.OutcomeKind_name, nil},
		{"RESERVATION_STATE_", settlementv1.ReservationState_name, []string{"PENDING", "PROCESSING", "UNCERTAIN"}},
		{"OUTPUT_", settlementv1.Output_name, nil},
	} {
		for number, name := range enum.names {
			name = strings.TrimPrefix(name, enum.prefix)
			if number != 0 && !played[name] && !slices.Contains(enum.open, name) {
				t.Errorf("no scenario ends with %s%s", enum.prefix, name)
			}
		}
	}
}

func TestAPermitEndsByTheWorkersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := permit{ends: time.Now().Add(2 * time.Second)}
		if p.over() {
			t.Error("over at once")
		}
		<-time.After(2*time.Second - 1)
		if p.over() {
			t.Error("over too early")
		}
		<-time.After(1)
		if !p.over() {
			t.Error("not over at its end")
		}
		if _, err := new(worker).post(t.Context(), p); !errors.Is(err, errPermitOver) {
			t.Errorf("posted after it: %v", err)
		}
	})
}

// TestWhatIsWantedIsWhole follows each hold from the start over the open job to its end.
func TestWhatIsWantedIsWhole(t *testing.T) {
	w := want{state: "FAILED", outcome: "GIVEN_UP", output: "WITHHELD", budgetHeld: true, spent: 7}
	open, ended := w.open("UNCERTAIN"), w.ended()
	if open.CreditsAvailable+open.CreditsHeld != creditsGranted || open.CreditsHeld != creditsTaken || open.SlotsInUse != 1 {
		t.Errorf("open: %+v", open)
	}
	if ended.CreditsAvailable != creditsGranted || ended.CreditsHeld != 0 || ended.SlotsInUse != 0 || ended.BudgetHeld != budgetTaken {
		t.Errorf("ended: %+v", ended)
	}
	many := want{fleet: 12, budgetHeld: true}.ended()
	if many.CreditsAvailable+many.CreditsHeld != creditsGranted+fleetCredits || many.CreditsHeld != creditsTaken || many.BudgetHeld != 13*budgetTaken {
		t.Errorf("a fleet: %+v", many)
	}
	free := want{freeAttempt: true, captured: 1}
	if h := free.ended(); h.AttemptsAvailable != 0 || h.CreditsAvailable != creditsGranted || h.Credit != "CAPTURED" {
		t.Errorf("a free attempt: %+v", h)
	}
}

func TestDifferencesAreNamed(t *testing.T) {
	w := want{state: "COMPLETED", outcome: "COMPLETED", captured: 4}
	h := w.ended()
	if err := h.compare(w.ended(), "wanted", "read"); err != nil {
		t.Errorf("the same differs: %v", err)
	}
	other := h
	other.BudgetSpent, other.Slot = 9, "HELD"
	err := h.compare(other, "wanted", "read")
	if err == nil || err.Error() != "slot hold: wanted RELEASED, read HELD; budget spent: wanted 0, read 9" {
		t.Errorf("got %v", err)
	}
}

func TestTheTableShowsWhatFailed(t *testing.T) {
	text.DisableColors()
	defer text.EnableColors()
	got := Table([]Result{
		{Name: "good", Title: "a good one", Holds: want{outcome: "GIVEN_UP", output: "WITHHELD", captured: 4, spent: 1_230_000}.ended(), Posts: 1},
		{Name: "many", Title: "many", Holds: want{outcome: "GIVEN_UP", output: "NONE", budgetHeld: true, fleet: 12}.ended(), Fleet: 12, Posts: 1},
		{Name: "bad", Title: "a bad one", Err: errors.New("it went wrong")},
	})
	for _, want := range []string{
		"✓ a good one given up 4 of 10 captured released",
		"1.23 1 withheld",
		"✓ many given up ×12 10 returned released 2.60 0.00 1 none",
		"✗ a bad one  unknown",
		"✗ a bad one (bad): it went wrong",
	} {
		squeezed := strings.Join(strings.Fields(want), " ")
		if !strings.Contains(strings.Join(strings.Fields(got), " "), squeezed) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestOnlyKnownFailuresArePlanted(t *testing.T) {
	for name, want := range map[string]bool{"": true, PlantInLedger: true, "completed": true, "Completed": false, "nothing": false} {
		if CanPlant(name) != want {
			t.Errorf("CanPlant(%q) is %v", name, !want)
		}
	}
}
