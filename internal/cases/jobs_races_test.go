package cases_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// rivals are what else moves a pending reservation while a job is about to cancel it.
var rivals = map[string]func(x *site, id string){
	"cancelled":              func(x *site, id string) { x.Settle(x.t, id, "", apptest.Cancelled()) },
	"policy_rejected":        func(x *site, id string) { x.Settle(x.t, id, "", apptest.Rejected(apptest.Input, nil)) },
	"moderation_unavailable": func(x *site, id string) { x.Settle(x.t, id, "", apptest.Unavailable(apptest.Input)) },
	"permit":                 func(x *site, id string) { x.Begin(x.t, apptest.Submission(id, "k-"+id)) },
	"extend":                 func(x *site, id string) { x.Extend(x.t, id, 3600) },
	"a report of an unknown key": func(x *site, id string) {
		x.Report(x.t, id, "k-"+id, apptest.Accepted("task-"+id))
	},
}

// A chunk of a job and every other writer of a reservation, in both orders and at once. One of them is first: either the job has cancelled the
// reservation as it was approved, and the other one finds it so; or the other one has changed it, and the job changes nothing.
func TestCase17AJobChunkAndAnotherWriter(t *testing.T) {
	t.Parallel()
	x, _ := fleet(t, 0)
	rounds := 0
	for name, rival := range rivals {
		for _, order := range []string{"chunk first", "rival first", "at once", "at once", "at once"} {
			rounds++
			job := fmt.Sprintf("job-%d", rounds)
			id := "r-" + job
			x.Granted(t, id, "", micros(1))
			approve(t, x.Service, &settlementv1.Manifest{
				JobId: job, Action: cancelling, ChunkSize: 1, AllowPartial: true, Targets: []*settlementv1.Target{{
					ReservationId: id, Revision: new(int32(0)), TakenUnit: settlementv1.Unit_UNIT_CREDITS, Taken: new(int64(10)),
				}},
			})
			var err error
			chunk := func() {
				for again := true; again; again = status.Code(err) == codes.Unavailable { // a lock that was waited for too long
					_, err = runChunk(t, x.Service, job)
				}
			}
			switch order {
			case "chunk first":
				chunk()
				rival(x, id)
				is(t, name+" second: the chunk", err, nil)
			case "rival first":
				rival(x, id)
				chunk()
				wantCode(t, name+" first: the chunk", err, codes.FailedPrecondition)
			default:
				var both sync.WaitGroup
				both.Go(chunk)
				both.Go(func() { rival(x, id) })
				both.Wait()
			}
			x.wantOneWinner(name+", "+order, job, id, err)
		}
	}
	x.whole()
}

// wantOneWinner finds the reservation as the job made it where its chunk went through, and else without any trace of the job.
func (x *site) wantOneWinner(what, job, id string, err error) {
	x.t.Helper()
	r := x.Get(x.t, id)
	byJob := r.GetOutcome().GetReason() == "reconciliation job "+job
	if byJob != (err == nil) {
		x.t.Errorf("%s: the chunk answered %v, and the reservation ended by %v", what, err, r.GetOutcome())
	}
	trace := postgrestest.Value[int](x.DB, `SELECT (SELECT count(*) FROM job_audit WHERE job_id = $1) +
		(SELECT count(*) FROM entries WHERE detail ->> 'job_id' = $1)`, job)
	wanted := 0
	if err == nil {
		wanted = 2
	} else {
		wantCode(x.t, what, err, codes.FailedPrecondition)
	}
	is(x.t, what+": rows that name the job", trace, wanted)
	if ends := x.entries("end " + id); r.GetOutcome() != nil && ends != 1 {
		x.t.Errorf("%s: %d ends", what, ends)
	}
}

// A server is told to stop while it drains a job. It ends well and in time, and the job stands at a checkpoint behind exactly what was answered.
func TestCase30ADrainStopsAtACheckpoint(t *testing.T) {
	t.Parallel()
	x, ids := fleet(t, 60)
	approve(t, x.Service, plan(t, x.Service, "job", cancelling, 1).GetManifest())
	p := x.serve()
	stream, err := p.Jobs.DrainJob(t.Context(), &settlementv1.DrainJobRequest{TenantId: apptest.Tenant, JobId: "job", MaxChunks: 64})
	answered := 0
	for err == nil {
		var m *settlementv1.DrainJobResponse
		if m, err = stream.Recv(); m.GetChunk() == nil {
			continue
		}
		if answered++; answered == 1 {
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	<-p.ended
	is(t, "exit status", p.cmd.ProcessState.ExitCode(), 0)
	if answered < len(ids) {
		wantCode(t, "the drain", err, codes.Unavailable)
	}
	wantAudit(t, x.Service, "job", ids[:answered], endCancelled)
	if changed, err := drainJob(t, x.Service, "job"); err != nil || len(changed) != len(ids)-answered {
		t.Errorf("the next drain: %d of %d, %v", len(changed), len(ids)-answered, err)
	}
	x.whole()
}
