package cases_test

import (
	"slices"

	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// answering accepts what its answers say, in their order; the last one repeats.
func answering(answers ...fakeprovider.Answer) fakeprovider.GenerationScript {
	return fakeprovider.GenerationScript{Answers: answers}
}

var failing = fakeprovider.GenerationScript{End: fakeprovider.TaskFailed, FailureCode: "overloaded"}

// generating is everything that a provider may do about the paid POST of a job.
func generating() []behaviour {
	done := func(name string, s fakeprovider.GenerationScript) behaviour {
		return behaviour{name: name, first: s, end: endCompleted, runs: true, calm: s.HideCost || s.CostMicros != nil}
	}
	all := []behaviour{
		done("plain", answering()),
		done("pending", fakeprovider.GenerationScript{PendingPolls: 2}),
		done("running", fakeprovider.GenerationScript{PendingPolls: pollsMax + 2}),
		done("not_found_at_first", fakeprovider.GenerationScript{NotFoundPolls: 2}),
		done("not_found_and_lost", fakeprovider.GenerationScript{NotFoundPolls: 2, Answers: []fakeprovider.Answer{fakeprovider.CutAfter}}),
		done("cost_not_told", fakeprovider.GenerationScript{HideCost: true}),
		done("costs_nothing", fakeprovider.GenerationScript{CostMicros: new(int64(0))}),
		done("resend_refused", answering(fakeprovider.CutAfter, fakeprovider.Refuse)),
		done("resend_refused_unfound", fakeprovider.GenerationScript{
			NotFoundPolls: 2, Answers: []fakeprovider.Answer{fakeprovider.CutAfter, fakeprovider.Refuse},
		}),
		done("resend_lost_too", answering(fakeprovider.CutAfter, fakeprovider.HangAfter)),
	}
	for _, a := range []fakeprovider.Answer{ // a resend, and the second key, are answered plainly
		fakeprovider.NoTaskID, fakeprovider.Garbage, fakeprovider.ErrorBefore, fakeprovider.ErrorAfter, fakeprovider.CutBefore,
		fakeprovider.CutAfter, fakeprovider.HangBefore, fakeprovider.HangAfter, fakeprovider.HoldBefore, fakeprovider.HoldAfter,
	} {
		all = append(all, done(string(a), answering(a, fakeprovider.Plainly)))
	}
	lostAndFailing := failing
	lostAndFailing.Answers = []fakeprovider.Answer{fakeprovider.ErrorAfter, fakeprovider.Plainly}
	refusing := answering(fakeprovider.Refuse)
	refusing.Refusal = fakeprovider.Refusal{Code: "busy", CostMicros: 7}
	quiet := refusing
	quiet.HideCost = true
	return append(all,
		behaviour{name: "fails", first: failing, later: failing, end: endProviderFailed, runs: true},
		behaviour{name: "lost_and_fails", first: lostAndFailing, later: failing, end: endProviderFailed, runs: true},
		behaviour{name: "refused_once", first: refusing, end: endCompleted, runs: true},
		behaviour{name: "refused_quietly", first: quiet, end: endCompleted, runs: true, calm: true},
		behaviour{name: "refused_twice", first: refusing, later: refusing, end: endProviderFailed},
	)
}

// few is one of each kind among them: answered, never arrived, lost, arriving late, found late, failing, refused.
func few() []behaviour {
	names := []string{"plain", "cut_before", "cut_after", "hold_before", "not_found_and_lost", "fails", "refused_once"}
	return slices.DeleteFunc(generating(), func(b behaviour) bool { return !slices.Contains(names, b.name) })
}

// checking is everything that a checker may do about the input or the output of a job.
func checking() []behaviour {
	rejects := fakeprovider.CheckScript{Categories: []string{"violence"}}
	all := []behaviour{
		{name: "passes", end: endCompleted, runs: true},
		{name: "lost_then_passes", first: answering(fakeprovider.CutAfter, fakeprovider.Plainly), end: endCompleted, runs: true},
		{name: "never_ran_then_passes", first: answering(fakeprovider.HangBefore, fakeprovider.Plainly), end: endCompleted, runs: true},
		{name: "passes_then_fails", first: failing, later: failing, end: endProviderFailed, runs: true},
		{name: "input_rejected", input: rejects, end: endRejected},
		{name: "output_rejected", output: rejects, end: endRejected, runs: true},
	}
	for _, a := range []fakeprovider.Answer{
		fakeprovider.ErrorBefore, fakeprovider.ErrorAfter, fakeprovider.CutBefore, fakeprovider.CutAfter, fakeprovider.Garbage,
		fakeprovider.HangBefore, fakeprovider.HangAfter, fakeprovider.HoldBefore, fakeprovider.HoldAfter,
	} {
		script := fakeprovider.CheckScript{Answers: []fakeprovider.Answer{a}}
		calm := a != fakeprovider.HangBefore && a != fakeprovider.CutAfter && a != fakeprovider.Garbage // workers see no more kinds than these
		all = append(all,
			behaviour{name: "input_" + string(a), input: script, end: endUnavailable, calm: calm},
			behaviour{name: "output_" + string(a), output: script, end: endUnavailable, runs: true, calm: calm})
	}
	return all
}
