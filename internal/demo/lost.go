package demo

import fake "github.com/settlementd/settlementd/internal/fakeprovider"

// uncertainties are jobs of which nobody knew for a while whether their POST had arrived.
func uncertainties() []scenario {
	found := func(notFoundPolls int) fake.GenerationScript { // accepted and billed, but nobody hears of it
		return fake.GenerationScript{Answers: []fake.Answer{fake.CutAfter}, NotFoundPolls: notFoundPolls}
	}
	return []scenario{
		{
			name: "answer-lost", title: "answer lost, found by evidence", permitSeconds: calm,
			steps: []step{
				generations("first", found(1)), reserve(credits()), uncertain("first"), notFound("first", "UNCERTAIN"),
				ended("first", fake.Succeeded), reconciled("first", provenSucceeded, applied), settled(delivered("first"), replayed),
			},
			want: want{state: "COMPLETED", outcome: "COMPLETED", captured: creditsTaken, spent: GenerationCost, output: "RELEASABLE", posts: 1},
		},
		{
			name: "answer-lost-resent", title: "answer lost, same key sent again", permitSeconds: calm, provider: takesKeys,
			steps: []step{
				generations("first", fake.GenerationScript{Answers: []fake.Answer{fake.CutAfter, fake.Plainly}}),
				reserve(credits()), uncertain("first"), permittedAgain("first"), submitted("first", fake.Accepted),
				ended("first", fake.Succeeded), settledOnce(delivered("first")),
			},
			want: want{state: "COMPLETED", outcome: "COMPLETED", captured: creditsTaken, spent: GenerationCost, output: "RELEASABLE", posts: 1},
		},
		{
			name: "resend-refused", title: "answer lost, the resend refused", permitSeconds: calm, provider: takesKeys,
			steps: []step{
				generations("first", fake.GenerationScript{Answers: []fake.Answer{fake.CutAfter, fake.Refuse}, NotFoundPolls: 1}),
				reserve(credits()), uncertain("first"), permittedAgain("first"), lost("first"),
				settled(submissionUncertain("first"), replayed), notFound("first", "UNCERTAIN"),
				ended("first", fake.Succeeded), reconciled("first", provenSucceeded, applied), settled(delivered("first"), replayed),
			},
			want: want{state: "COMPLETED", outcome: "COMPLETED", captured: creditsTaken, spent: GenerationCost, output: "RELEASABLE", posts: 1},
		},
		{
			name: "not-received", title: "never received, a second attempt", permitSeconds: brief,
			steps: []step{
				generations("first", fake.GenerationScript{Answers: []fake.Answer{fake.CutBefore}}),
				reserve(credits()), uncertain("first"), notFound("first", "UNCERTAIN"), reconciledInTime("first", provenNotReceivedResume),
				works("second"), settledOnce(delivered("second")),
			},
			want: want{state: "COMPLETED", outcome: "COMPLETED", captured: creditsTaken, spent: GenerationCost, output: "RELEASABLE", posts: 1},
		},
		{
			name: "given-up", title: "given up by an operator", permitSeconds: brief,
			steps: []step{
				generations("first", found(1_000_000)),
				reserve(credits()), uncertain("first"), notFound("first", "UNCERTAIN"), reconciledInTime("first", givenUp),
			},
			want: want{state: "FAILED", outcome: "GIVEN_UP", budgetHeld: true, output: "WITHHELD", posts: 1},
		},
		{
			name: "given-up-found", title: "given up, then found to have run", permitSeconds: brief,
			steps: []step{
				generations("first", found(2)),
				reserve(credits()), uncertain("first"), notFound("first", "UNCERTAIN"), reconciledInTime("first", givenUp),
				ended("first", fake.Succeeded), settled(delivered("first"), superseded),
			},
			want: want{state: "FAILED", outcome: "GIVEN_UP", spent: GenerationCost, output: "WITHHELD", posts: 1},
		},
	}
}

// crashes are jobs whose worker dies or freezes, and somebody else takes over.
func crashes() []scenario {
	return []scenario{
		{
			name: "killed-before-post", title: "worker killed before its POST", permitSeconds: brief,
			steps: []step{
				reserve(credits()), started("first", HaltPermitted), killed, notFound("first", "PROCESSING"),
				reconciledInTime("first", provenNotReceived),
			},
			want: want{state: "FAILED", outcome: "NOT_RECEIVED", output: "NONE"},
		},
		{
			name: "killed-after-post", title: "worker killed after its POST", permitSeconds: calm,
			steps: []step{
				reserve(credits()), started("first", HaltPosted), killed, allHeld("PROCESSING"),
				ended("first", fake.Succeeded), settledOnce(delivered("first")),
			},
			want: want{state: "COMPLETED", outcome: "COMPLETED", captured: creditsTaken, spent: GenerationCost, output: "RELEASABLE", posts: 1},
		},
		{
			name: "frozen", title: "worker frozen beyond its permit", permitSeconds: brief,
			steps: []step{
				reserve(credits()), started("first", HaltPermitted), frozen, notFound("first", "PROCESSING"),
				reconciledInTime("first", provenNotReceivedResume), works("second"), settledOnce(delivered("second")), woken,
			},
			want: want{state: "COMPLETED", outcome: "COMPLETED", captured: creditsTaken, spent: GenerationCost, output: "RELEASABLE", posts: 1},
		},
	}
}
