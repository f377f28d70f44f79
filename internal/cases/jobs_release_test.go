package cases_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// abandoned leaves a job behind an input check that the provider has and does not answer. Its worker is gone.
func (s *studio) abandoned(id string) {
	s.t.Helper()
	s.Granted(s.t, id, "", ttl(seconds(lifeTime)))
	key := "check-" + id
	s.scriptCheck(key, fakeprovider.CheckScript{Answers: []fakeprovider.Answer{fakeprovider.HangAfter}})
	s.Permitted(s.t, apptest.Check(id, key, apptest.Input))
	s.check(s.t.Context(), key, "INPUT")
}

// posted sends a generation of an abandoned job all the same, and returns what was learnt of it.
func (s *studio) posted(id, key string, answer fakeprovider.Answer) fakeprovider.Submission {
	s.t.Helper()
	s.script(key, answering(answer))
	s.Permitted(s.t, apptest.Submission(id, key))
	return s.submit(s.t.Context(), key, fakeprovider.Generation{Input: id})
}

// notProven are jobs behind an unanswered check that may be alive, each with what a plan says is in the way of a release.
var notProven = map[string]struct {
	inTheWay string
	live     func(s *studio, id string)
}{
	"alive-with-fresh-evidence": {"GENERATION", func(s *studio, id string) {
		s.Report(s.t, id, "gen-"+id, apptest.Accepted(s.posted(id, "gen-"+id, fakeprovider.Plainly).TaskID))
	}},
	"alive-with-none": {"GENERATION", func(s *studio, id string) { s.posted(id, "gen-"+id, fakeprovider.HangAfter) }},
	"alive-under-a-new-task": {"GENERATION", func(s *studio, id string) {
		s.posted(id, "gen-"+id, fakeprovider.Refuse)
		s.Report(s.t, id, "gen-"+id, apptest.NotAccepted(apptest.Money(0)))
		s.Report(s.t, id, "gen2-"+id, apptest.Accepted(s.posted(id, "gen2-"+id, fakeprovider.Plainly).TaskID))
	}},
	"uncertain": {"GENERATION", func(s *studio, id string) {
		s.posted(id, "gen-"+id, fakeprovider.CutAfter)
		s.Settle(s.t, id, "gen-"+id, apptest.Uncertain())
	}},
	"succeeded": {"GENERATION", func(s *studio, id string) {
		s.posted(id, "gen-"+id, fakeprovider.Plainly)
		s.Report(s.t, id, "gen-"+id, apptest.EndedWell(nil))
	}},
	"failed": {"GENERATION", func(s *studio, id string) {
		s.posted(id, "gen-"+id, fakeprovider.Plainly)
		s.Report(s.t, id, "gen-"+id, apptest.EndedBadly(nil))
	}},
	"check-with-a-task": {"CHECK_ACCEPTED", func(s *studio, id string) {
		s.Report(s.t, id, "check-"+id, apptest.Accepted("task-"+id))
	}},
}

// proven are jobs behind an unanswered check of which nothing else can be alive.
var proven = map[string]func(s *studio, id string){
	"dead":      func(*studio, string) {},
	"uncertain": func(s *studio, id string) { s.Report(s.t, id, "check-"+id, apptest.Unsure()) },
	"not-sent": func(s *studio, id string) {
		s.Permitted(s.t, apptest.Submission(id, "gen-"+id))
		s.Report(s.t, id, "gen-"+id, apptest.Unsent("gen-"+id))
	},
	"refused": func(s *studio, id string) {
		s.posted(id, "gen-"+id, fakeprovider.Refuse)
		s.Report(s.t, id, "gen-"+id, apptest.NotAccepted(apptest.Money(0)))
	},
	"not-received": func(s *studio, id string) { s.posted(id, "gen-"+id, fakeprovider.HangBefore) },
}

// journal is everything that says who was asked for what, and what it cost.
func (s *studio) journal(ids []string) map[string][]*settlementv1.Line {
	found := map[string][]*settlementv1.Line{}
	for _, id := range ids {
		found[id] = s.Get(s.t, id).GetLines()
	}
	return found
}

// A recovery finds four old jobs behind checks that were never answered: one alive with fresh evidence, one alive with none, one alive under a
// new task, and one that is dead. It releases that one, and nothing is asked of the provider, and nothing of the journal or of any cost changes.
func TestCase21OnlyTheDeadOneOfFourIsReleased(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	manySlots(t, s.Service)
	four := []string{"alive-under-a-new-task", "alive-with-fresh-evidence", "alive-with-none", "dead"}
	for _, id := range four {
		s.abandoned(id)
		if j, ok := notProven[id]; ok {
			j.live(s, id)
		}
	}
	s.pass(2 * time.Hour)
	s.released(t, four, []string{"dead"})
}

// Every kind of job behind a check is a job for the narrow rule: it releases the customers of those that are proved to be dead, and leaves all
// the others to reconciliation.
func TestCase21OnlyWhatIsProvedIsReleased(t *testing.T) {
	t.Parallel()
	s := newStudio(t, 0)
	manySlots(t, s.Service)
	var all, dead []string
	for kind, j := range notProven {
		s.abandoned("alive/" + kind)
		j.live(s, "alive/"+kind)
		all = append(all, "alive/"+kind)
	}
	for kind, die := range proven {
		s.abandoned("dead/" + kind)
		die(s, "dead/"+kind)
		dead = append(dead, "dead/"+kind)
	}
	slices.Sort(dead)
	s.pass(4 * time.Hour)
	s.Reconcile(t, "dead/not-received", "gen-dead/not-received", apptest.Resumed(seconds(lifeTime)))
	s.abandoned("alive/young") // its check may still answer
	s.released(t, slices.Concat(all, dead, []string{"alive/young"}), dead)
}

// released plans, approves and runs a release, and finds that exactly the dead ones were released, and in them only the customer's side.
func (s *studio) released(t *testing.T, all, dead []string) {
	t.Helper()
	p := plan(t, s.Service, "release", releasing, 2)
	if !slices.Equal(proposed(p), dead) {
		t.Errorf("proposed are %q, want %q", proposed(p), dead)
	}
	left := map[string]string{}
	for _, id := range all {
		if !slices.Contains(dead, id) {
			left[id] = "NO_UNANSWERED_CHECK"
		}
	}
	for kind, j := range notProven {
		for id := range maps.Keys(left) {
			if id == kind || id == "alive/"+kind {
				left[id] = j.inTheWay
			}
		}
	}
	if diff := cmp.Diff(left, notProposed(p)); diff != "" {
		t.Error(diff)
	}
	journal, posts, statement, books := s.journal(all), s.provider.Totals(), s.provider.Usage(), s.Books(t)
	approve(t, s.Service, p.GetManifest())
	if changed, err := drainJob(t, s.Service, "release"); err != nil || !slices.Equal(changed, dead) {
		t.Errorf("%q, %v", changed, err)
	}
	wantAudit(t, s.Service, "release", dead, endUnavailable)
	if diff := cmp.Diff(journal, s.journal(all), protocmp.Transform()); diff != "" {
		t.Errorf("the journal changed: %s", diff)
	}
	is(t, "what the provider has counted", s.provider.Totals(), posts)
	if diff := cmp.Diff(statement, s.provider.Usage()); diff != "" {
		t.Errorf("the provider's statement changed: %s", diff)
	}
	back := int64(10 * len(dead))
	want := books
	want.Credits, want.CreditsHeld = books.Credits+back, books.CreditsHeld-back
	want.Slots, want.InFlight = books.Slots-int64(len(dead)), books.InFlight-int64(len(dead))
	s.WantBooks(t, want) // the budget is held for what the checks may have cost
	for id := range left {
		if r := s.Get(t, id); r.GetOutcome() != nil {
			t.Errorf("%s has ended: %v", id, r.GetOutcome())
		}
	}
	s.Verify(t)
	s.answeredLater(t, dead[0])
}

// answeredLater has the check recover, and say no. The customer's side stands, and what the check cost is spent.
func (s *studio) answeredLater(t *testing.T, id string) {
	t.Helper()
	no := s.Settle(t, id, "", apptest.Rejected(apptest.Input, apptest.Money(checkCost)), apptest.Checked("check-"+id))
	is(t, "a late verdict", no.GetDisposition(), superseded)
	is(t, "what was returned", s.Get(t, id).GetCredit().GetReturned(), 10)
	is(t, "what is spent", s.Books(t).Spent, checkCost)
	s.Verify(t)
}
