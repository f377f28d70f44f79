package ledgerdb

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/settlementd/settlementd/internal/ledger"
)

// newHistory is a world in which much has happened: r1 completed at a charge, its cost put right by an operator; r2 failed with its cost
// unknown; r3 is uncertain; r4 has no permit; r5 took a free attempt and was rejected; r6 resumed after a request that was not received;
// r7 was accepted after its check; a job has cancelled r8, which was then archived, and would go on with an r9 that is not there; a statement of the
// provider lists r5's request and one that nobody knows.
func newHistory(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.play()
	return w
}

func (w *world) play() {
	w.t.Helper()
	usd := func(m ledger.Micros) *ledger.Money { return &ledger.Money{Micros: m, Currency: "USD"} }
	charge := ledger.Amount(7)

	w.reserve(reserveOf("r1", "k1"))
	completed := ledger.Settlement{
		Reservation: "r1", Key: "k1", Observer: ledger.ByPoll, Task: "t1", Cost: usd(37), OutputCheck: ledger.CheckNotRequired,
		Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeCompleted, Charge: &charge},
	}
	w.settle(completed)
	completed.Cost = usd(40)
	conflict := w.settle(completed).Exceptions[0]
	resolve := ledger.Resolve{Exception: conflict.ID, Reservation: "r1", As: ledger.ExceptionApplied, Reason: "invoice 7"}
	w.answers["r1"] = must(w, resolve.Keys(), func(b *ledger.Book) (ledger.ResolveAnswer, error) { return b.Resolve(resolve) }).View

	w.reserve(reserveOf("r2", "k2"))
	w.settle(ledger.Settlement{
		Reservation: "r2", Key: "k2", Observer: ledger.ByCallback, Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeProviderFailed, Code: "boom"},
	})

	w.reserve(reserveOf("r3", "k3"))
	w.report(ledger.Report{Reservation: "r3", Key: "k3", Knowledge: ledger.LineUncertain, Cause: "timeout"})
	labelled := reserveOf("r4", "")
	ttl := int64(900)
	labelled.Asked.Labels, labelled.Asked.TTLSeconds = map[string]string{"team": `"a", \b`}, &ttl
	w.reserve(labelled)

	free := reserveOf("r5", "k5")
	free.Asked.Funding = ledger.Funding{Kind: ledger.FundFreeAttempt}
	w.reserve(free)
	w.settle(ledger.Settlement{
		Reservation: "r5", Key: "k5", Observer: ledger.ByWorker, Cost: usd(12),
		Outcome: ledger.SettledOutcome{Kind: ledger.OutcomePolicyRejected, Stage: ledger.OutputStage, Categories: []string{`a "b"`, `c\d`, ""}},
	})

	w.reserve(reserveOf("r6", "k6"))
	w.report(ledger.Report{Reservation: "r6", Key: "k6", Knowledge: ledger.LineNotSent, Token: "token-k6"})
	w.permit(ledger.BeginSubmission{Reservation: "r6", Key: "k6b", Token: "t", Kind: ledger.Generation})
	w.permit(ledger.BeginSubmission{Reservation: "r6", Key: "k6b", Token: "t", Kind: ledger.Generation, Resend: true})

	w.reserve(reserveOf("r7", ""))
	w.permit(ledger.BeginSubmission{
		Reservation: "r7", Key: "c7", Token: "t", Kind: ledger.Moderation, Stage: ledger.InputStage, CheckTimeoutSeconds: 60,
	})
	w.permit(ledger.BeginSubmission{Reservation: "r7", Key: "k7", Token: "t", Kind: ledger.Generation})
	w.report(ledger.Report{Reservation: "r7", Key: "k7", Knowledge: ledger.LineAccepted, Task: "t7"})
	w.reconcile(ledger.Proof{
		Reservation: "r7", Key: "k7", Kind: ledger.ProofStillUnknown, Reason: "running", Source: ledger.Source{Kind: "poll", Reference: "#1"},
	})
	w.settle(ledger.Settlement{
		Reservation: "r7", CheckKey: "c7", Observer: ledger.ByFrontend, Outcome: ledger.SettledOutcome{Kind: ledger.OutcomeCancelled, Cause: "bored"},
	})
	w.runJob()
	w.archive("r7")
	w.takeStatement()
}

// archive moves what is over and was made after a reservation into the archive.
func (w *world) archive(after ledger.ReservationID) Archived {
	w.t.Helper()
	page := ArchivePage{Scan: 100}
	if after != "" {
		page.After = Cursor{w.answers[after].CreatedAt, string(after)}
	}
	found, err := w.store.Archive(w.t.Context(), tenant, page)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// takeStatement is a statement that was imported.
func (w *world) takeStatement() {
	w.t.Helper()
	for _, sql := range []string{
		`INSERT INTO statements VALUES ($1, 'imagen', 'may', '2031-05-01', '2031-06-01', now(), 5, 2, 1, 0, 0, 0, 1, 0, 1, now(), now())`,
		`INSERT INTO statement_lines VALUES ($1, 'imagen', 'may', 2, '', 'MATCHED', 'k5', NULL, 'r5', 12, 'USD', 12, NULL, NULL),
			($1, 'imagen', 'may', 5, '', 'UNKNOWN_TO_US', 'k0', NULL, NULL, 1, 'USD', NULL, NULL, 'no request has this request_key')`,
		`INSERT INTO statement_absences VALUES ($1, 'imagen', 'may', 'k3', NULL, 'r3', NULL, 'its cost is not known yet')`,
	} {
		if _, err := w.store.pool.Exec(w.t.Context(), sql, pgx.QueryExecModeExec, tenant); err != nil {
			w.t.Fatal(err)
		}
	}
}

// jobHash is the hash of its manifest.
const jobHash = "ef3eff2e5f89cbb74527f2ee4b8a8cf68f68ff66425faee1465915a0f0f0b4c6"

// runJob is a job of two targets, a chunk each, after its first chunk.
func (w *world) runJob() {
	w.t.Helper()
	r8 := w.reserve(reserveOf("r8", "")).View
	m := ledger.Manifest{Job: "j1", Action: ledger.CancelPending, ChunkSize: 1, Targets: []ledger.Target{
		{Reservation: "r8", Revision: r8.Revision, Taken: r8.Taken}, {Reservation: "r9", Revision: 0, Taken: r8.Taken},
	}}
	keys := ledger.Keys{Reservations: []ledger.ReservationID{"r8"}}
	must(w, keys, func(b *ledger.Book) (ledger.Processed, error) {
		return b.ApplyTarget(ledger.Errand{Job: m.Job, Action: m.Action}, m.Targets[0])
	})
	w.answers["r8"] = must(w, keys, func(b *ledger.Book) (ledger.Expiry, error) { return b.Expire("r8") }).View
	for _, sql := range []string{
		`INSERT INTO jobs VALUES ($1, 'j1', 'CANCEL', 1, 2, '` + m.Hash(tenant) + `', 'ann', now(), 'bob', now(), 1, now())`,
		`INSERT INTO job_targets VALUES ($1, 'j1', 0, 'r8', 0, 'CREDITS', 10), ($1, 'j1', 1, 'r9', 0, 'CREDITS', 10)`,
		`INSERT INTO job_audit VALUES ($1, 'j1', 0, 'r8', 0, 1, 'CREDITS', 10, now())`,
	} {
		if _, err := w.store.pool.Exec(w.t.Context(), sql, pgx.QueryExecModeExec, tenant); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) report(in ledger.Report) ledger.Answer {
	w.t.Helper()
	return w.keep(must(w, in.Keys(), func(b *ledger.Book) (ledger.Answer, error) { return b.Report(in) }))
}

func (w *world) permit(in ledger.BeginSubmission) ledger.PermitAnswer {
	w.t.Helper()
	answer := must(w, in.Keys(), func(b *ledger.Book) (ledger.PermitAnswer, error) { return b.BeginSubmission(in) })
	w.answers[in.Reservation] = answer.View
	return answer
}

func (w *world) reconcile(in ledger.Proof) ledger.Answer {
	w.t.Helper()
	return w.keep(must(w, in.Keys(), func(b *ledger.Book) (ledger.Answer, error) { return b.Reconcile(in) }))
}

// keep remembers how an answer showed its reservation.
func (w *world) keep(a ledger.Answer) ledger.Answer {
	w.answers[a.View.ID] = a.View
	return a
}

// verify returns what is broken in the world's tenant.
func (w *world) verify() []Finding {
	w.t.Helper()
	found, err := Verify(w.t.Context(), w.db.Read(), tenant)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}
