package cases_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// samples are valid requests, at least one for every method, which together set every field.
func samples() []proto.Message {
	bound := func(r *settlementv1.SettleRequest) { r.ProviderTaskId = new("task") }
	renewed := apptest.Running("task")
	renewed.TtlSeconds = new(int64(60))
	succeeded := apptest.Succeeded(settlementv1.EvidenceOutputCheck_EVIDENCE_OUTPUT_CHECK_PASSED, apptest.Money(1))
	succeeded.ProviderTaskId = new("task")
	failedThere := apptest.FailedThere(apptest.Money(1))
	failedThere.ProviderTaskId = new("task")
	t, a, p := apptest.Tenant, apptest.Account, apptest.Provider
	inBatch := fullReserve()
	inBatch.TenantId = "" // that of the batch
	settledInBatch := apptest.Settlement("J", "K", apptest.Charged(1, apptest.Money(1)), bound, apptest.Checked("C"))
	settledInBatch.TenantId = ""
	return []proto.Message{
		&settlementv1.BatchReserveRequest{TenantId: t, Requests: []*settlementv1.ReserveRequest{inBatch}},
		&settlementv1.BatchSettleRequest{TenantId: t, Requests: []*settlementv1.SettleRequest{settledInBatch}},
		fullReserve(), apptest.Reserve("J", "", freeAttempt), apptest.Reserve("J", "", attemptOr(1)),
		&settlementv1.ExtendReservationRequest{TenantId: t, ReservationId: "J", TtlSeconds: 60},
		apptest.Submission("J", "K"), apptest.Check("J", "C", apptest.Input),
		apptest.Report("J", "K", apptest.Accepted("task")), apptest.Report("J", "K", apptest.NotAccepted(apptest.Money(1))),
		apptest.Report("J", "K", apptest.Unsent("K")), apptest.Report("J", "K", apptest.Unsure()), apptest.Report("J", "K", apptest.EndedWell(apptest.Money(1))),
		&settlementv1.GetReservationRequest{TenantId: t, ReservationId: "J"},
		&settlementv1.ListReservationsRequest{
			TenantId: t, AccountId: new(a), ProviderId: new(p), States: []settlementv1.ReservationState{pending},
			Outcomes: []settlementv1.OutcomeKind{endCompleted}, OlderThanSeconds: new(int64(1)), PageSize: new(int32(1)),
		},
		apptest.Settlement("J", "K", apptest.Charged(1, apptest.Money(1)), bound, apptest.Checked("C")),
		apptest.Settlement("J", "K", apptest.Failed(apptest.Money(1))), apptest.Settlement("J", "K", apptest.Rejected(apptest.Output, apptest.Money(1))),
		apptest.Settlement("J", "K", apptest.Unavailable(apptest.Output)), apptest.Settlement("J", "K", apptest.Uncertain()),
		apptest.Settlement("J", "", apptest.Cancelled(), apptest.NotSent("K")),
		apptest.Proof("J", "K", renewed), apptest.Proof("J", "K", apptest.Resumed(60)), apptest.Proof("J", "K", succeeded), apptest.Proof("J", "K", failedThere),
		apptest.Proof("J", "K", apptest.Costs(1)), apptest.Proof("J", "K", apptest.Free()), apptest.Proof("J", "K", apptest.GivenUp()),
		apptest.Proof("J", "K", apptest.StillUnknown(settlementv1.UncertainCause_UNCERTAIN_CAUSE_TIMEOUT)),
		&settlementv1.ListExceptionsRequest{
			TenantId: t, ReservationId: new("J"), Reasons: []settlementv1.ExceptionReason{settlementv1.ExceptionReason_EXCEPTION_REASON_SUPERSEDED},
			PageSize: new(int32(1)),
		},
		&settlementv1.ResolveExceptionRequest{TenantId: t, ExceptionId: "x1", Resolution: &settlementv1.ResolveExceptionRequest_Apply{
			Apply: &settlementv1.ApplyResolution{Reason: "so"},
		}},
		&settlementv1.ResolveExceptionRequest{TenantId: t, ExceptionId: "x1", Resolution: &settlementv1.ResolveExceptionRequest_Dismiss{
			Dismiss: &settlementv1.DismissResolution{Reason: "so"},
		}},
		&settlementv1.PlanJobRequest{TenantId: t, Subject: &settlementv1.PlanJobRequest_Search{Search: &settlementv1.JobSearch{
			JobId: "job", Action: settlementv1.JobAction_JOB_ACTION_CANCEL, AccountId: new(a), ProviderId: new(p),
		}}},
		&settlementv1.PlanJobRequest{TenantId: t, Subject: &settlementv1.PlanJobRequest_Manifest{Manifest: manifest()}},
		&settlementv1.RegisterJobRequest{TenantId: t, Manifest: manifest(), RegisteredBy: "ann"},
		&settlementv1.ApproveJobRequest{TenantId: t, JobId: "job", ManifestHash: strings.Repeat("0", 64), ApprovedBy: "bob"},
		&settlementv1.GetJobRequest{TenantId: t, JobId: "job"}, &settlementv1.RunChunkRequest{TenantId: t, JobId: "job"},
		&settlementv1.ReportJobRequest{TenantId: t, JobId: "job"},
		&settlementv1.ListJobsRequest{TenantId: t, States: []settlementv1.JobState{settlementv1.JobState_JOB_STATE_DONE}, PageSize: new(int32(1))},
		&settlementv1.GetStatementRequest{TenantId: t, ProviderId: p, StatementId: "S"},
		&settlementv1.ListStatementFindingsRequest{TenantId: t, ProviderId: p, StatementId: "S", PageSize: new(int32(1))},
		&settlementv1.PutTenantRequest{TenantId: t}, &settlementv1.PutAccountRequest{TenantId: t, AccountId: a, SlotLimit: apptest.Slots},
		&settlementv1.GetAccountRequest{TenantId: t, AccountId: a},
		&settlementv1.PutProviderRequest{
			TenantId: t, ProviderId: p, Currency: apptest.Currency, Enabled: true, PermitSeconds: new(int64(30)), NotReceivedAfterSeconds: 60,
			AuthoritativeObserver: poll, BudgetPeriod: settlementv1.BudgetPeriod_BUDGET_PERIOD_NONE, BudgetLimitMicros: apptest.Limit,
		},
		&settlementv1.GetProviderRequest{TenantId: t, ProviderId: p}, &settlementv1.PutBudgetRequest{TenantId: t, ProviderId: p, LimitMicros: apptest.Limit},
		&settlementv1.GetBudgetRequest{TenantId: t, ProviderId: p},
		&settlementv1.GrantCreditsRequest{TenantId: t, AccountId: a, GrantId: "G", Credits: 1},
		&settlementv1.GrantFreeAttemptsRequest{TenantId: t, AccountId: a, GrantId: "G", Attempts: 1},
		&settlementv1.GetLedgerRequest{TenantId: t, AccountId: a, PageSize: new(int32(1))},
		&settlementv1.GetBalanceRequest{TenantId: t, AccountId: a, AsOfEntry: new(int64(1))},
	}
}

// manifest is a job of one target.
func manifest() *settlementv1.Manifest {
	return &settlementv1.Manifest{
		JobId: "job", Action: settlementv1.JobAction_JOB_ACTION_CANCEL, ChunkSize: 1, AllowPartial: true, Targets: []*settlementv1.Target{{
			ReservationId: "J", Revision: new(int32(0)), TakenUnit: settlementv1.Unit_UNIT_CREDITS, Taken: new(int64(10)),
		}},
	}
}

// spot is one field of a request, with the path that an error names it by.
type spot struct {
	path  string
	field protoreflect.FieldDescriptor
	in    protoreflect.Message
}

// spots are the fields that a request has set, at every depth.
func spots(m protoreflect.Message, prefix string) []spot {
	var found []spot
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		path := prefix + string(field.Name())
		found = append(found, spot{path, field, m})
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			found = append(found, spots(v.List().Get(0).Message(), path+"[0].")...)
		default:
			found = append(found, spots(v.Message(), path+".")...)
		}
		return true
	})
	slices.SortFunc(found, func(a, b spot) int { return strings.Compare(a.path, b.path) })
	return found
}

// each sets up every field of every sample in turn, where a test says that it is of interest: a copy of the request, with the spot in that copy.
func each(of func(spot) bool, do func(req proto.Message, at spot)) {
	for _, sample := range samples() {
		for _, there := range spots(sample.ProtoReflect(), "") {
			if !of(there) {
				continue
			}
			req := clone(sample)
			for _, here := range spots(req.ProtoReflect(), "") {
				if here.path == there.path {
					do(req, here)
				}
			}
		}
	}
}

// TestEverySampleIsValidAndEveryMethodHasOne keeps the tests of malformed requests honest: a new method needs a valid request here.
func TestEverySampleIsValidAndEveryMethodHasOne(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	sampled := map[protoreflect.FullName]bool{}
	for _, req := range samples() {
		sampled[req.ProtoReflect().Descriptor().FullName()] = true
		_, err := try(t.Context(), s, req)
		switch status.Code(err) {
		case codes.OK, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition:
		default:
			t.Errorf("%T: %v", req, err)
		}
	}
	served := services(t, s)
	for input, method := range methods() {
		unary := !method.IsStreamingClient() && !method.IsStreamingServer()
		if unary && slices.Contains(served, string(method.Parent().FullName())) && !sampled[input] {
			t.Errorf("%s has no sample", method.FullName())
		}
	}
}

// services are the names of the services that a server serves.
func services(t *testing.T, s *apptest.Service) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := must(reflectionpb.NewServerReflectionClient(s.Conn).ServerReflectionInfo(ctx))(t)
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, service := range must(stream.Recv())(t).GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	return names
}
