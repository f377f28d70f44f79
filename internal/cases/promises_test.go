package cases_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
)

// promises names the tests that hold each guarantee of the README, under the README's own words.
var promises = map[string][]string{
	"All three or none.":     {"TestCase31AllThreeHoldsOrNone", "TestCase24TheLastOneIsTakenOnce"},
	"Exactly once.":          {"TestCase16PollAndCallbackAtOnceReturnOnce", "TestFinishSixteenNotificationsReturnOnce"},
	"The same answer again.": {"TestCase03EveryFieldOfReserveIsItsContent", "TestCase01EveryCallSurvivesAckLoss"},
	"Never a second paid request.": {
		"TestNoInterruptionPaysTwice", "TestHandlingTheSameRequestAgainSendsNoSecondPaidPOST", "TestCase52ARefusalIsNoAnswerAfterAResend",
	},
	"No cost is lost.":                              {"TestCase07AbsentZeroAndKnownCosts", "TestCase18ACostOfAnUnknownAttemptIsKept"},
	"Unchecked output never opens.":                 {"TestCase58UncheckedOutputNeverOpens", "TestNoUncheckedOutputIsOffered"},
	"Nothing is swallowed.":                         {"TestCase12AThousandCopiesAreOneException", "TestFinishAConflictingEntryIsLoud"},
	"A recovery changes exactly what was approved.": {"TestChunkRollsBackWholeForOneBadRow"},
	"A fault is never a denial.":                    {"TestCase27ALockIsNeverADenial", "TestCase01AckLossOfReserveIsNoDenial"},
	"The ledger can be checked.":                    {"TestVerifyNamesWhatIsBroken", "TestHistoryIsNeverRewritten"},
}

var guarantee = regexp.MustCompile(`(?m)^- \*\*(.+?)\*\*`)

// TestEveryPromiseOfTheREADMEHasItsTests holds the guarantees of the README and their tests against each other.
func TestEveryPromiseOfTheREADMEHasItsTests(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, m := range guarantee.FindAllStringSubmatch(string(readme), -1) {
		made = append(made, m[1])
	}
	slices.Sort(made)
	if kept := slices.Sorted(maps.Keys(promises)); !slices.Equal(made, kept) {
		t.Errorf("the README promises %q, tests are named for %q", made, kept)
	}
	source := testSources(t, ".", "../ledger/ledgerdb", "../reconcile/jobs")
	for promise, tests := range promises {
		for _, name := range tests {
			if !regexp.MustCompile(`(?m)^func ` + name + `\(t \*testing\.T\)`).Match(source) {
				t.Errorf("%s: there is no test %s", promise, name)
			}
		}
	}
}

// testSources are the texts of the test files in some folders.
func testSources(t *testing.T, folders ...string) []byte {
	t.Helper()
	var all []byte
	for _, folder := range folders {
		files, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.IsDir() {
				continue
			}
			text, err := os.ReadFile(folder + "/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text...)
		}
	}
	return all
}
