package oracle_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settlementd/settlementd/internal/oracle"
)

// small is a whole page in little: a reservation, a line, a deadline.
const small = `# Prose
| a table | of prose |
| --- | --- |
| is not | read |

## The oracle
### Terms
| terms | stamped |
| --- | --- |
| plain | funding=CREDITS credits=10 credits_available=100 budget=200 budget_limit=1000 |
| free | funding=FREE_ATTEMPT credits=0 |
### Situations
| situation | from | step | what stands |
| --- | --- | --- | --- |
| unknown | | | nothing |
| reserved | unknown | reserve | |
| permitted | reserved | begin | state=PROCESSING key=PERMITTED output=WITHHELD |
| late | permitted | wait 901 | state=PROCESSING key=PERMITTED output=WITHHELD |
| overdue | late | sweep | state=UNCERTAIN key=UNCERTAIN overdue=MARKED output=WITHHELD |
| free-permitted | permitted | terms free | state=PROCESSING key=PERMITTED output=WITHHELD |
### Groups
| group | situations |
| --- | --- |
| ALL | unknown, reserved, permitted, late, overdue |
### Chapters
| chapter | situations |
| --- | --- |
| The whole | ALL |
### Calls
| call | rpc | line | says |
| --- | --- | --- | --- |
| reserve | Reserve | | reserve |
| begin | BeginSubmission | key | generation token=own |
| failed | Settle | key | provider_failed cost=37 |
| sweep | Sweep | | sweep |
## Chapter: The whole
#### every call
| situations | answer | what moves |
| --- | --- | --- |
| late | as swept | |
#### reserve
| situations | answer | what moves |
| --- | --- | --- |
| unknown | GRANTED | state=PENDING credit=HELD slot=HELD budget=HELD output=NONE event=RESERVED |
| ALL, !unknown, !late | REPLAYED | |
#### begin
| situations | answer | what moves |
| --- | --- | --- |
| unknown | STATUS NOT_FOUND | |
| reserved | GRANTED | state=PROCESSING key=PERMITTED key.permit=30 output=WITHHELD event=PERMITTED |
| permitted | GRANTED | |
| overdue | ALREADY_GRANTED | |
#### failed
| situations | answer | what moves |
| --- | --- | --- |
| unknown | STATUS NOT_FOUND | |
| reserved | REFUSED UNKNOWN_ATTEMPT | |
| permitted, overdue | APPLIED | state=FAILED outcome=PROVIDER_FAILED key=FAILED key.cost=37 event=PROVIDER_FAILED |
#### sweep
| situations | answer | what moves |
| --- | --- | --- |
| unknown, reserved, permitted, overdue | NOTHING | |
| late | SWEPT | state=UNCERTAIN key=UNCERTAIN overdue=MARKED event=OVERDUE |
`

func TestParse(t *testing.T) {
	t.Parallel()
	table, err := oracle.Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Cells) != 20 {
		t.Errorf("%d cells, want 4 calls in 5 situations", len(table.Cells))
	}
	refused, _ := table.Cell("failed", "reserved")
	want := oracle.Moves{Changes: oracle.View{}, Exceptions: []string{"UNKNOWN_ATTEMPT"}}
	if diff := cmp.Diff(want, refused.Moves); diff != "" || refused.Answer.String() != "REFUSED UNKNOWN_ATTEMPT" {
		t.Errorf("failed in reserved: %s\n%s", refused.Answer, diff)
	}
	free, _ := table.SituationNamed("free-permitted")
	if free.Terms != "free" || len(free.Steps) != 2 || free.Steps[1].Call.Name != "begin" {
		t.Errorf("free-permitted is built under %s by %d steps", free.Terms, len(free.Steps))
	}
}

// TestSweptCell sees that an expiry on the way is a change of its own, and that what the call takes back did not move.
func TestSweptCell(t *testing.T) {
	t.Parallel()
	table, err := oracle.Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := table.Cell("failed", "late")
	want := oracle.Moves{
		Changes: oracle.View{
			"state": "FAILED", "outcome": "PROVIDER_FAILED", "key": "FAILED", "key.cost": "37", "overdue": "MARKED",
		},
		Events: []string{"OVERDUE", "PROVIDER_FAILED"},
	}
	if diff := cmp.Diff(want, got.Moves); diff != "" {
		t.Error(diff)
	}
}

// TestParseComplains breaks the small page in one place at a time.
func TestParseComplains(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, old, new, want string }{
		{"missing cell", "| overdue | ALREADY_GRANTED | |\n", "", "begin/overdue is missing"},
		{"missing section", "#### failed\n", "#### sweep\n", `the call "failed" has no section`},
		{"missing chapter", "## Chapter: The whole\n", "", `the chapter "The whole" is missing`},
		{"cell twice", "| permitted | GRANTED | |", "| permitted, reserved | GRANTED | |", "begin/reserved stands in line"},
		{"unknown situation", "| permitted, overdue |", "| permitted, overdued |", `no situation or group "overdued"`},
		{"nothing to take out", "!unknown, !late", "!unknown, !late, !free-permitted", "takes nothing out"},
		{"other chapter's situation", "| overdue | ALREADY_GRANTED", "| overdue, free-permitted | ALREADY_GRANTED", "not a situation of this chapter"},
		{"unknown call", "#### begin\n", "#### start\n", `no such call: "start"`},
		{"unknown answer", "ALREADY_GRANTED", "APPLIED", `BeginSubmission does not answer "APPLIED"`},
		{"unknown reason", "UNKNOWN_ATTEMPT", "UNHAPPY", `REFUSED has no reason "UNHAPPY"`},
		{"no reason", "REFUSED UNKNOWN_ATTEMPT", "REFUSED", "REFUSED takes one reason"},
		{"unknown code", "STATUS NOT_FOUND", "STATUS LOST", "STATUS takes a code"},
		{"unknown thing", "key.cost=37", "key.price=37", `nothing is called "key.price"`},
		{"unknown value", "key=FAILED", "key=BROKEN", "not one of PERMITTED"},
		{"no number", "key.cost=37", "key.cost=much", "not a number"},
		{"thing twice", "key.cost=37", "key.cost=37 key.cost=38", "key.cost is said twice"},
		{"unknown event", "event=OVERDUE", "event=LATE", "not one of RESERVED"},
		{"no pair", "event=OVERDUE", "OVERDUE", "not of the form name=value"},
		{"nothing swept", "| reserved | REFUSED UNKNOWN_ATTEMPT | |", "| reserved | as swept | |", `no sweep has left "reserved"`},
		{"unknown fact", "provider_failed cost", "exploded cost", "Settle cannot say"},
		{"unknown argument", "cost=37 |\n| sweep", "price=37 |\n| sweep", `Settle does not take "price"`},
		{"unknown rpc", "| Settle |", "| Unsettle |", `no such rpc: "Unsettle"`},
		{"unknown part", "| Settle | key |", "| Settle | lock |", `no such part: "lock"`},
		{"unknown terms", "terms free", "terms dear", `no such terms: "dear"`},
		{"unknown term", "credits_available=100", "credits_everywhere=100", "terms do not have"},
		{"unknown origin", "| permitted | reserved |", "| permitted | deserved |", `no situation "deserved" before this one`},
		{"unknown step", "reserved | begin |", "reserved | start |", `no such step: "start"`},
		{"other than its step", "overdue=MARKED output=WITHHELD |", "output=WITHHELD |", `"overdue" says that`},
		{"column missing", "| overdue | ALREADY_GRANTED | |", "| overdue | ALREADY_GRANTED |", "2 columns instead of 3"},
		{"other head", "| group | situations |", "| group | members |", `the table under "Groups" has the head`},
		{"situation twice", "| late | permitted | wait", "| reserved | permitted | wait", `the situation "reserved" stands twice`},
		{"no oracle", "## The oracle", "## The auspices", "no heading"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(small, test.old) {
				t.Fatalf("the small page has no %q", test.old)
			}
			_, err := oracle.Parse(strings.Replace(small, test.old, test.new, 1))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
