package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// worker sends the requests of one job, each under a permit of its own.
type worker struct {
	clients     *clients
	provider    *fakeprovider.Client
	reservation string
	callbackURL string
}

// permit is the right to start one request until a moment of this process's monotonic clock.
type permit struct {
	key    string
	token  string
	ends   time.Time
	resend bool // somebody may have sent the request already
}

// over tells whether the permit may be used no more, however long this process was asleep.
func (p permit) over() bool { return !time.Now().Before(p.ends) }

// errPermitOver is what a worker answers itself instead of sending a request too late.
var errPermitOver = errors.New("the permit is over: not sent")

// begin asks for a permit. The time that it was asked at is the earliest that the service can have counted from.
func (w *worker) begin(ctx context.Context, r *settlementv1.BeginSubmissionRequest, want settlementv1.PermitKind) (permit, error) {
	r.TenantId, r.ReservationId, r.PermitToken = Tenant, w.reservation, rand.Text()
	asked := time.Now()
	a, err := w.clients.reservations.BeginSubmission(ctx, r)
	if err != nil {
		return permit{}, fmt.Errorf("begin submission: %w", err)
	}
	granted := a.GetPermit()
	if granted.GetKind() != want {
		return permit{}, fmt.Errorf("begin submission of %s: %v, want %v", r.RequestKey, a.Result, want)
	}
	ends := asked.Add(time.Duration(granted.GetExpiresInMs()) * time.Millisecond)
	return permit{key: r.RequestKey, token: r.PermitToken, ends: ends, resend: r.GetGeneration().GetResend()}, nil
}

func (w *worker) beginGeneration(ctx context.Context, key string) (permit, error) {
	return w.begin(ctx, &settlementv1.BeginSubmissionRequest{
		RequestKey: key, Kind: &settlementv1.BeginSubmissionRequest_Generation{Generation: &settlementv1.GenerationSubmission{}},
	}, settlementv1.PermitKind_PERMIT_KIND_GRANTED)
}

func (w *worker) beginResend(ctx context.Context, key string) (permit, error) {
	return w.begin(ctx, &settlementv1.BeginSubmissionRequest{
		RequestKey: key, Kind: &settlementv1.BeginSubmissionRequest_Generation{Generation: &settlementv1.GenerationSubmission{Resend: true}},
	}, settlementv1.PermitKind_PERMIT_KIND_RESEND)
}

func (w *worker) beginCheck(ctx context.Context, key string, stage settlementv1.Stage) (permit, error) {
	return w.begin(ctx, &settlementv1.BeginSubmissionRequest{
		RequestKey: key, Kind: &settlementv1.BeginSubmissionRequest_Moderation{
			Moderation: &settlementv1.ModerationSubmission{Stage: stage, CheckTimeoutSeconds: 5},
		},
	}, settlementv1.PermitKind_PERMIT_KIND_GRANTED)
}

// post sends the paid POST of a generation, once, and not at all when the permit is over. That a resend was refused, or never sent, says
// nothing of the POST before it.
func (w *worker) post(ctx context.Context, p permit) (fakeprovider.Submission, error) {
	if p.over() {
		return fakeprovider.Submission{}, errPermitOver
	}
	s := w.provider.Submit(ctx, p.key, fakeprovider.Generation{Input: "a lighthouse at dusk", CallbackURL: w.callbackURL})
	if p.resend && (s.Fact == fakeprovider.Refused || s.Fact == fakeprovider.NotSent) {
		s = fakeprovider.Submission{Fact: fakeprovider.Uncertain, Cause: fakeprovider.ServerError}
	}
	return s, nil
}

// postCheck sends the paid POST of a check, once, and not at all when the permit is over.
func (w *worker) postCheck(ctx context.Context, from *fakeprovider.Client, p permit, stage settlementv1.Stage) (fakeprovider.Verdict, error) {
	if p.over() {
		return fakeprovider.Verdict{}, errPermitOver
	}
	return from.Check(ctx, p.key, fakeprovider.Check{Stage: word(stage, "STAGE_"), Content: "a lighthouse at dusk"}), nil
}

// report tells the service what became of a request.
func (w *worker) report(ctx context.Context, r *settlementv1.ReportSubmissionRequest) error {
	r.TenantId, r.ReservationId = Tenant, w.reservation
	a, err := w.clients.reservations.ReportSubmission(ctx, r)
	if err != nil {
		return fmt.Errorf("report submission: %w", err)
	}
	if a.Disposition != settlementv1.Disposition_DISPOSITION_APPLIED {
		return fmt.Errorf("report submission of %s: %v %v, want APPLIED", r.RequestKey, a.Disposition, a.RefusedReason)
	}
	return nil
}

// reportPost tells the service what a POST taught.
func (w *worker) reportPost(ctx context.Context, p permit, s fakeprovider.Submission) error {
	r := &settlementv1.ReportSubmissionRequest{RequestKey: p.key}
	switch s.Fact {
	case fakeprovider.Accepted:
		r.Fact = &settlementv1.ReportSubmissionRequest_Accepted{Accepted: &settlementv1.AcceptedReport{ProviderTaskId: s.TaskID}}
	case fakeprovider.Refused:
		r.Fact = &settlementv1.ReportSubmissionRequest_NotAccepted{NotAccepted: &settlementv1.NotAcceptedReport{Cost: money(s.Cost)}}
	case fakeprovider.Uncertain:
		r.Fact = &settlementv1.ReportSubmissionRequest_Uncertain{Uncertain: &settlementv1.UncertainReport{Cause: uncertainCause(s.Cause)}}
	default:
		r.Fact = &settlementv1.ReportSubmissionRequest_NotSent{NotSent: &settlementv1.NotSent{PermitToken: p.token}}
	}
	return w.report(ctx, r)
}

// money is a cost as the API takes it: absent is unknown, zero is known.
func money(c *fakeprovider.Cost) *settlementv1.Money {
	if c == nil {
		return nil
	}
	return &settlementv1.Money{AmountMicros: c.AmountMicros, Currency: c.Currency}
}

func uncertainCause(c fakeprovider.Cause) settlementv1.UncertainCause {
	switch c {
	case fakeprovider.Timeout:
		return settlementv1.UncertainCause_UNCERTAIN_CAUSE_TIMEOUT
	case fakeprovider.Transport:
		return settlementv1.UncertainCause_UNCERTAIN_CAUSE_CONNECTION_LOST
	case fakeprovider.ServerError:
		return settlementv1.UncertainCause_UNCERTAIN_CAUSE_SERVER_ERROR
	default:
		return settlementv1.UncertainCause_UNCERTAIN_CAUSE_UNREADABLE_ANSWER
	}
}

func unavailableCause(c fakeprovider.Cause) settlementv1.UnavailableCause {
	return settlementv1.UnavailableCause(settlementv1.UnavailableCause_value["UNAVAILABLE_CAUSE_"+string(c)])
}
