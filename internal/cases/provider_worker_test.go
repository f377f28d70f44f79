package cases_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

const (
	refusalsMax = 2  // before a worker gives a job up
	attemptsMax = 4  // that a job can come to: two refusals, each behind a request that never arrived or was refused unheard
	pollsMax    = 4  // before a worker leaves a job to a later one
	stepsMax    = 40 // in which a worker must come to rest
	triesMax    = 8  // of a call that brings no answer
)

// job is what a worker is asked to do. All else about it stands in the service.
type job struct {
	id         string
	inputCheck bool
	twoCalls   bool   // the permit comes with the reservation
	callback   string // a URL that the provider is to tell the end
	free       bool   // paid by a free attempt
	life       time.Duration
}

// Every worker sends the same request of a job under the same key.
func (j job) generation(n int) string { return fmt.Sprintf("%s.generation-%d", j.id, n) }

func (j job) checkOf(stage settlementv1.Stage) string { return j.id + ".check-" + stageWord(stage) }

func stageWord(stage settlementv1.Stage) string { return stage.String()[len("STAGE_"):] }

// worker carries one job as far as it goes, as a careful worker does. It remembers nothing that another could need: each step follows from
// the reservation, so a second worker goes on where a first one stopped.
//
//	reserve ── (input check) ── permit ── POST ── report ── poll ── (output check) ── settle ── acknowledge
type worker struct {
	*studio
	name string
	job  job
	hook hook

	effects int // so far
	tokens  int
	resent  bool
	polls   int
}

// hook stands around every effect of a worker: what it does to the service, the provider or its own queue.
type hook struct {
	before func(n int, effect string) error // an error stops the worker there
	lose   func(n int) bool                 // whether the answer gets lost
}

// errParked is how a worker leaves a job that only time, evidence or somebody else can bring further.
var errParked = errors.New("parked")

func (s *studio) worker(name string, j job) *worker { return &worker{studio: s, name: name, job: j} }

// effect does one thing outside of the worker, unless the worker is stopped before it. It tells whether the answer was lost on its way back.
func (w *worker) effect(name string, do func()) (lost bool, err error) {
	n := w.effects
	w.effects++
	if w.hook.before != nil {
		if err := w.hook.before(n, name); err != nil {
			return false, err
		}
	}
	do()
	return w.hook.lose != nil && w.hook.lose(n), nil
}

// ask makes one call of the service, and the same one again while nothing is known of it.
func ask[A any](w *worker, name string, call func() (A, error)) (A, error) {
	var none A
	for range triesMax {
		var answer A
		var failure error
		lost, err := w.effect(name, func() { answer, failure = call() })
		if err != nil {
			return none, err
		}
		if code := status.Code(failure); !lost && code != codes.Unavailable && code != codes.Aborted {
			return answer, failure
		}
	}
	return none, fmt.Errorf("%s of %s: no answer in %d tries", name, w.job.id, triesMax)
}

// carry works on the job until it has ended, and acknowledges it; or until it is parked or the worker is stopped.
func (w *worker) carry(ctx context.Context) error {
	r, err := w.reserve(ctx)
	for step := 0; err == nil && isOpen(r); step++ {
		if step == stepsMax {
			return fmt.Errorf("%s never comes to rest with %s: %v", w.name, w.job.id, r)
		}
		r, err = w.advance(ctx, r)
	}
	if err == nil {
		_, err = w.effect("acknowledge", func() {})
	}
	return err
}

func (w *worker) reserve(ctx context.Context) (*settlementv1.Reservation, error) {
	req := apptest.Reserve(w.job.id, "", ttl(seconds(w.job.life)))
	if w.job.free {
		freeAttempt(req)
	}
	key, token := w.job.generation(1), w.token()
	if w.job.twoCalls {
		req.Submission = &settlementv1.Submission{RequestKey: key, PermitToken: token}
	}
	asked := w.now()
	a, err := ask(w, "reserve", func() (*settlementv1.ReserveResponse, error) { return w.Reservations.Reserve(ctx, req) })
	switch granted := a.GetGranted(); {
	case err != nil:
		return nil, err
	case granted == nil:
		return nil, fmt.Errorf("reserve %s: %v", w.job.id, a)
	case granted.GetPermit() != nil:
		return w.send(ctx, key, token, permitEnd(asked, granted.GetPermit()), false)
	default:
		return granted.GetReservation(), nil
	}
}

// token is a new one for each logical call.
func (w *worker) token() string {
	w.tokens++
	return fmt.Sprintf("%s-%s-%d", w.job.id, w.name, w.tokens)
}

// permitEnd is when a permit ends by the worker's own clock, counted from before it was asked for.
func permitEnd(asked time.Time, p *settlementv1.Permit) time.Time {
	return asked.Add(time.Duration(p.GetExpiresInMs()) * time.Millisecond)
}

// advance takes the next step of the job, which follows from its journal.
func (w *worker) advance(ctx context.Context, r *settlementv1.Reservation) (*settlementv1.Reservation, error) {
	switch g := liveGeneration(r); {
	case g == nil && w.job.inputCheck && findLine(r, w.job.checkOf(apptest.Input)).GetKnowledge() != lineSucceeded:
		return w.checkContent(ctx, r, apptest.Input)
	case g == nil:
		return w.attempt(ctx, r)
	case g.GetKnowledge() == lineAccepted:
		return w.poll(ctx, r, g)
	case g.GetKnowledge() != lineSucceeded:
		return w.trace(ctx, r, g)
	case r.GetPolicy().GetOutputCheckRequired():
		return w.checkContent(ctx, r, apptest.Output)
	default:
		return w.settle(ctx, g, unchecked(nil))
	}
}

// attempt sends the generation under a new key, which is only allowed where no other one can have run.
func (w *worker) attempt(ctx context.Context, r *settlementv1.Reservation) (*settlementv1.Reservation, error) {
	before, refusals := generations(r), 0
	for _, g := range before {
		if g.GetKnowledge() == lineNotAccepted {
			refusals++
		}
	}
	if refusals == refusalsMax {
		return w.settle(ctx, before[len(before)-1], &settlementv1.ProviderFailedOutcome{Code: "refused"})
	}
	return w.begin(ctx, w.job.generation(len(before)+1), false)
}

// begin asks for the permit of a generation, and sends it with one.
func (w *worker) begin(ctx context.Context, key string, resend bool) (*settlementv1.Reservation, error) {
	req := apptest.Submission(w.job.id, key)
	req.PermitToken, req.GetGeneration().Resend = w.token(), resend
	asked := w.now()
	a, err := ask(w, "begin", func() (*settlementv1.BeginSubmissionResponse, error) { return w.Reservations.BeginSubmission(ctx, req) })
	if err != nil || a.GetPermit() == nil {
		return a.GetReservation(), err
	}
	return w.send(ctx, key, req.GetPermitToken(), permitEnd(asked, a.GetPermit()), resend)
}

// send sends the paid POST, once, and tells the service what became of it. The last thing before the POST is a look at the clock: when
// the permit is over, nothing is sent and the job is looked at anew.
func (w *worker) send(ctx context.Context, key, token string, until time.Time, resend bool) (*settlementv1.Reservation, error) {
	sent, learnt := false, fakeprovider.Submission{}
	lost, err := w.effect("POST", func() {
		if sent = w.now().Before(until); sent {
			learnt = w.submit(ctx, key, fakeprovider.Generation{Input: w.job.id, CallbackURL: w.job.callback})
		}
	})
	switch {
	case err != nil:
		return nil, err
	case !sent:
		return w.look(ctx)
	case lost:
		learnt = fakeprovider.Submission{Fact: fakeprovider.Uncertain, Cause: fakeprovider.Transport}
	}
	if resend && (learnt.Fact == fakeprovider.Refused || learnt.Fact == fakeprovider.NotSent) { // it says nothing of the first POST
		learnt = fakeprovider.Submission{Fact: fakeprovider.Uncertain, Cause: fakeprovider.ServerError}
	}
	return w.report(ctx, key, factOf(learnt, token))
}

// factOf is what one POST taught, as a report tells it.
func factOf(s fakeprovider.Submission, token string) any {
	switch s.Fact {
	case fakeprovider.Accepted:
		return apptest.Accepted(s.TaskID)
	case fakeprovider.Refused:
		return apptest.NotAccepted(costOf(s.Cost))
	case fakeprovider.NotSent:
		return &settlementv1.NotSent{PermitToken: token}
	default:
		return &settlementv1.UncertainReport{Cause: uncertainty(s.Cause)}
	}
}

// trace finds out about a request that somebody may have sent: under its original key where the provider knows keys again, else by asking.
func (w *worker) trace(ctx context.Context, r *settlementv1.Reservation, g *settlementv1.Line) (*settlementv1.Reservation, error) {
	if g.GetResendUntil() != nil && !w.resent {
		w.resent = true
		return w.begin(ctx, g.GetRequestKey(), true)
	}
	var o fakeprovider.Observation
	lost, err := w.effect("look up", func() { o = w.client.Lookup(ctx, g.GetRequestKey()) })
	switch {
	case err != nil:
		return nil, err
	case lost || o.TaskID == "": // not found proves nothing yet
		return r, errParked
	}
	return w.report(ctx, g.GetRequestKey(), apptest.Accepted(o.TaskID))
}

// poll asks where the task stands, and settles the job when it has ended.
func (w *worker) poll(ctx context.Context, r *settlementv1.Reservation, g *settlementv1.Line) (*settlementv1.Reservation, error) {
	var o fakeprovider.Observation
	lost, err := w.effect("poll", func() { o = w.client.Status(ctx, g.GetProviderTaskId()) })
	if err != nil {
		return nil, err
	}
	switch {
	case !lost && o.Fact == fakeprovider.Succeeded && r.GetPolicy().GetOutputCheckRequired():
		return w.report(ctx, g.GetRequestKey(), apptest.EndedWell(costOf(o.Cost)))
	case !lost && o.Fact == fakeprovider.Succeeded:
		return w.settle(ctx, g, unchecked(costOf(o.Cost)))
	case !lost && o.Fact == fakeprovider.Failed:
		return w.settle(ctx, g, &settlementv1.ProviderFailedOutcome{Code: o.Code, Cost: costOf(o.Cost)})
	}
	if w.polls++; w.polls > pollsMax {
		return r, errParked
	}
	return r, nil // pending, or not found yet
}

func (w *worker) report(ctx context.Context, key string, fact any) (*settlementv1.Reservation, error) {
	req := apptest.Report(w.job.id, key, fact)
	a, err := ask(w, "report", func() (*settlementv1.ReportSubmissionResponse, error) {
		return w.Reservations.ReportSubmission(ctx, req)
	})
	return a.GetReservation(), err
}

// settle brings an outcome of a generation, or of none. What is held or refused waits for evidence.
func (w *worker) settle(
	ctx context.Context, g *settlementv1.Line, outcome any, change ...func(*settlementv1.SettleRequest),
) (*settlementv1.Reservation, error) {
	req := apptest.Settlement(w.job.id, g.GetRequestKey(), outcome, change...)
	if id := g.GetProviderTaskId(); id != "" {
		req.ProviderTaskId = &id
	}
	a, err := ask(w, "settle", func() (*settlementv1.SettleResponse, error) { return w.Settlements.Settle(ctx, req) })
	if d := a.GetDisposition(); err == nil && (d == held || d == refused) {
		err = errParked
	}
	return a.GetReservation(), err
}

func (w *worker) look(ctx context.Context) (*settlementv1.Reservation, error) {
	req := &settlementv1.GetReservationRequest{TenantId: apptest.Tenant, ReservationId: w.job.id}
	a, err := ask(w, "look", func() (*settlementv1.GetReservationResponse, error) { return w.Reservations.GetReservation(ctx, req) })
	return a.GetReservation(), err
}
