package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/reconcile/jobs/jobdb"
	"github.com/settlementd/settlementd/internal/rpc"
)

// Fault is called at the points of a chunk where a process might die, so that tests can see to it that one does. Its error is passed on.
type Fault func(point string) error

// The points of a chunk.
const (
	AfterOrders     = "after-orders"     // the reservations are changed
	AfterAudit      = "after-audit"      // and the audit is written
	AfterCheckpoint = "after-checkpoint" // and next_index is moved: everything but COMMIT
	AfterCommit     = "after-commit"     // the chunk stands
)

// chunk is what one transaction of a job did.
type chunk struct {
	processed []ledger.Processed
	next      int
	done      bool
}

// chunkTime bounds a chunk, whose statements are all bounded, too: it is for what else may hang.
const chunkTime = 30 * time.Second

// runChunk changes the next reservations of a job, with their audit and its checkpoint, or nothing. It is never tried a second time.
func (s *Server) runChunk(ctx context.Context, tenant ledger.TenantID, id ledger.JobID) (chunk, error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	var did chunk
	err := s.store.InChunk(ctx, tenant, id, func(ctx context.Context, c *jobdb.Chunk) (err error) {
		if c.Job.ApprovedAt.IsZero() {
			return precondition("job_id", "job %s is not approved", id)
		}
		if len(c.Targets) > 0 {
			did.processed, err = s.work(ctx, c)
			if _, conflict := errors.AsType[*ledger.Conflict](err); conflict {
				err = fmt.Errorf("%s changed nothing: %w", chunkOf(&c.Job), err)
			}
		}
		did.next, did.done = c.Job.NextIndex, c.Job.NextIndex == c.Job.Total
		return err
	})
	if err == nil && len(did.processed) > 0 {
		err = s.fault(AfterCommit)
	}
	if err != nil {
		return chunk{}, s.failure(id, err)
	}
	return did, nil
}

// chunkOf names the chunk that runs next: conflicts are not stored, so an error says where it was.
func chunkOf(j *jobdb.Job) string {
	return fmt.Sprintf("chunk %d of %d (next_index %d)", j.NextIndex/j.ChunkSize+1, (j.Total+j.ChunkSize-1)/j.ChunkSize, j.NextIndex)
}

// work does everything of a chunk between its locks and its COMMIT.
func (s *Server) work(ctx context.Context, c *jobdb.Chunk) ([]ledger.Processed, error) {
	processed, err := c.Apply(ctx)
	if err == nil {
		err = s.fault(AfterOrders)
	}
	if err == nil {
		err = c.Audit(ctx, processed)
	}
	if err == nil {
		err = s.fault(AfterAudit)
	}
	if err == nil {
		err = c.Advance(ctx)
	}
	if err == nil {
		err = s.fault(AfterCheckpoint)
	}
	return processed, err
}

func (s *Server) fault(point string) error {
	if s.config.Fault == nil {
		return nil
	}
	return s.config.Fault(point)
}

// failure turns what stops a chunk into what callers see. A contradiction in what is stored is nobody's business but an operator's, so it is
// loud in the log.
func (s *Server) failure(id ledger.JobID, err error) error {
	if c, ok := errors.AsType[*ledger.Conflict](err); ok {
		return rpc.Failure(codes.FailedPrecondition, "JOB_CONFLICT", fmt.Sprintf("job %s: %v", id, err), map[string]string{
			"job_id": string(id), "reservation_id": string(c.Reservation), "what": c.What(),
		})
	}
	if c, ok := errors.AsType[*jobdb.CorruptError](err); ok {
		s.config.Log.Error("a job contradicts itself", "job", id, "what", c.What, "error", err)
		return rpc.Failure(codes.FailedPrecondition, "JOB_CORRUPT", c.Error(), map[string]string{"job_id": string(id), "what": c.What})
	}
	if errors.Is(err, jobdb.ErrInDoubt) {
		s.config.Log.Error("a chunk is in doubt", "job", id, "error", err)
		return rpc.Failure(codes.Unavailable, "CHUNK_IN_DOUBT", "the chunk may have been committed; GetJob tells", map[string]string{"job_id": string(id)})
	}
	return err
}

// RunChunk runs one chunk of a job.
func (s *Server) RunChunk(ctx context.Context, req *settlementv1.RunChunkRequest) (*settlementv1.RunChunkResponse, error) {
	did, err := s.runChunk(ctx, ledger.TenantID(req.GetTenantId()), ledger.JobID(req.GetJobId()))
	if err != nil {
		return nil, err
	}
	return &settlementv1.RunChunkResponse{Chunk: respondChunk(&did)}, nil
}

// DrainJob runs chunks one after the other, and answers each before the next begins. No transaction is open while it answers.
func (s *Server) DrainJob(req *settlementv1.DrainJobRequest, stream grpc.ServerStreamingServer[settlementv1.DrainJobResponse]) error {
	tenant, id := ledger.TenantID(req.GetTenantId()), ledger.JobID(req.GetJobId())
	var all chunk
	calls := int32(0)
	for calls < req.GetMaxChunks() && !all.done {
		if s.stopping() {
			return fmt.Errorf("%w: the drain of job %s stopped after a chunk", lane.ErrClosed, id)
		}
		did, err := s.runChunk(stream.Context(), tenant, id)
		if err != nil {
			return err
		}
		calls++
		all = chunk{append(all.processed, did.processed...), did.next, did.done}
		message := &settlementv1.DrainJobResponse{Message: &settlementv1.DrainJobResponse_Chunk{Chunk: respondChunk(&did)}}
		if err := stream.Send(message); err != nil {
			return err
		}
	}
	slices.SortFunc(all.processed, func(a, b ledger.Processed) int { return cmp.Compare(a.Reservation, b.Reservation) })
	return stream.Send(&settlementv1.DrainJobResponse{Message: &settlementv1.DrainJobResponse_Summary{Summary: &settlementv1.DrainSummary{
		Calls: calls, Processed: respondProcessed(all.processed), NextIndex: int32(all.next), Done: all.done,
	}}})
}

func (s *Server) stopping() bool {
	select {
	case <-s.config.Stopping: // a nil channel never is
		return true
	default:
		return false
	}
}
