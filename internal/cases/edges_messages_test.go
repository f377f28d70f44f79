package cases_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// TestCase40AnUnknownEnumValueIsMalformed puts the unset value and values of nobody into every enum of every request.
func TestCase40AnUnknownEnumValueIsMalformed(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	before := s.Copy(t)
	isEnum := func(at spot) bool { return at.field.Kind() == protoreflect.EnumKind }
	n := 0
	each(isEnum, func(req proto.Message, at spot) {
		for _, value := range []protoreflect.EnumNumber{0, 99, -1} {
			if value == 0 && at.field.Name() == "authoritative_observer" {
				continue // unset means any
			}
			path := at.path
			if at.field.IsList() {
				path += "[0]"
				at.in.Mutable(at.field).List().Set(0, protoreflect.ValueOfEnum(value))
			} else {
				at.in.Set(at.field, protoreflect.ValueOfEnum(value))
			}
			_, err := try(t.Context(), s, req)
			wantStatus(t, err, codes.InvalidArgument, path)
			n++
		}
	})
	if n < 40 {
		t.Errorf("only %d enum values were tried", n)
	}
	s.Unchanged(t, before)
}

// TestCase40WhatTheServiceSaysItselfIsRefusedFromCallers sends the observers and causes that are the service's own.
func TestCase40WhatTheServiceSaysItselfIsRefusedFromCallers(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	before := s.Copy(t)
	for _, o := range []settlementv1.Observer{settlementv1.Observer_OBSERVER_RECONCILIATION, settlementv1.Observer_OBSERVER_EXPIRY} {
		_, err := try(t.Context(), s, apptest.Settlement("J", "K", apptest.Completed(nil), apptest.SeenBy(o)))
		wantStatus(t, err, codes.InvalidArgument, "observer")
	}
	for _, c := range []settlementv1.UncertainCause{
		settlementv1.UncertainCause_UNCERTAIN_CAUSE_DEADLINE_PASSED, settlementv1.UncertainCause_UNCERTAIN_CAUSE_UNKNOWN_TO_THE_LEDGER,
	} {
		_, err := try(t.Context(), s, apptest.Settlement("J", "K", &settlementv1.SubmissionUncertainOutcome{Cause: c}))
		wantStatus(t, err, codes.InvalidArgument, "submission_uncertain.cause")
		_, err = try(t.Context(), s, apptest.Report("J", "K", &settlementv1.UncertainReport{Cause: c}))
		wantStatus(t, err, codes.InvalidArgument, "uncertain.cause")
		_, err = try(t.Context(), s, apptest.Proof("J", "K", apptest.StillUnknown(c)))
		wantStatus(t, err, codes.InvalidArgument, "evidence.still_unknown.cause")
	}
	s.Unchanged(t, before)
}

// TestCase40AnUnsetChoiceIsMalformed leaves every oneof of every request unset, and then says something that only a later client knows.
func TestCase40AnUnsetChoiceIsMalformed(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	before := s.Copy(t)
	isChoice := func(at spot) bool {
		one := at.field.ContainingOneof()
		return one != nil && !one.IsSynthetic()
	}
	n := 0
	each(isChoice, func(req proto.Message, at spot) {
		path := strings.TrimSuffix(at.path, string(at.field.Name())) + string(at.field.ContainingOneof().Name())
		at.in.Clear(at.field)
		_, err := try(t.Context(), s, req)
		wantStatus(t, err, codes.InvalidArgument, path)
		at.in.SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 9999, protowire.BytesType), nil))
		_, err = try(t.Context(), s, req)
		wantStatus(t, err, codes.InvalidArgument, path)
		n++
	})
	if n < 20 {
		t.Errorf("only %d choices were left unset", n)
	}
	s.Unchanged(t, before)
}

// TestCase40WhatAnOutcomeNeedsMustBeThere leaves out what each outcome must name, and names what it must not.
func TestCase40WhatAnOutcomeNeedsMustBeThere(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	s.Granted(t, "J", "K")
	before := s.Copy(t)
	anyCost := apptest.Money(1)
	for _, c := range []struct {
		field string
		req   proto.Message
	}{
		{"request_key", apptest.Settlement("J", "", apptest.Completed(nil))},
		{"request_key", apptest.Settlement("J", "", apptest.Failed(nil))},
		{"request_key", apptest.Settlement("J", "", apptest.Uncertain())},
		{"request_key", apptest.Settlement("J", "", apptest.Rejected(apptest.Output, nil))},
		{"request_key", apptest.Settlement("J", "", apptest.Unavailable(apptest.Output))},
		{"check_request_key", apptest.Settlement("J", "", apptest.Rejected(apptest.Input, anyCost))},
		{"not_sent", apptest.Settlement("J", "K", apptest.Completed(nil), apptest.NotSent("K"))},
		{"not_sent", apptest.Settlement("J", "K", apptest.Failed(nil), apptest.NotSent("K"))},
		{"not_sent", apptest.Settlement("J", "K", apptest.Uncertain(), apptest.NotSent("K"))},
		{"not_sent", apptest.Settlement("J", "K", apptest.Rejected(apptest.Output, nil), apptest.NotSent("K"))},
		{"evidence.succeeded.output_check", apptest.Proof("J", "K", apptest.CheckSucceeded(nil))},
		{"evidence.accepted.ttl_seconds", apptest.Proof("J", "K", &settlementv1.AcceptedEvidence{ProviderTaskId: "task", TtlSeconds: new(int64(7*86_400 + 1))})},
		{"evidence.not_received.resume.ttl_seconds", apptest.Proof("J", "K", apptest.Resumed(7*86_400+1))},
		{"source", &settlementv1.ReconcileRequest{TenantId: apptest.Tenant, ReservationId: "J", RequestKey: "K", Evidence: apptest.Proof("J", "K", apptest.Free()).GetEvidence()}},
		{"moderation.check_timeout_seconds", &settlementv1.BeginSubmissionRequest{
			TenantId: apptest.Tenant, ReservationId: "J", RequestKey: "C", PermitToken: "T", Kind: &settlementv1.BeginSubmissionRequest_Moderation{
				Moderation: &settlementv1.ModerationSubmission{Stage: apptest.Input},
			},
		}},
		{"funding", &settlementv1.ReserveRequest{TenantId: apptest.Tenant, ReservationId: "J2", AccountId: "a", ProviderId: "p", Currency: "USD"}},
		{"currency", apptest.Reserve("J2", "", func(r *settlementv1.ReserveRequest) { r.Currency = "usd" })},
		{"page_token", &settlementv1.ListReservationsRequest{TenantId: apptest.Tenant, PageToken: "made-up"}},
		{"page_token", &settlementv1.ListExceptionsRequest{TenantId: apptest.Tenant, PageToken: "made-up"}},
		{"page_token", &settlementv1.GetLedgerRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, PageToken: "made-up"}},
		{"time_zone", providerRequest(settlementv1.BudgetPeriod_BUDGET_PERIOD_DAY, "Mars/Olympus")},
		{"time_zone", providerRequest(settlementv1.BudgetPeriod_BUDGET_PERIOD_DAY, "")},
		{"time_zone", providerRequest(settlementv1.BudgetPeriod_BUDGET_PERIOD_NONE, "UTC")},
	} {
		_, err := try(t.Context(), s, c.req)
		wantStatus(t, err, codes.InvalidArgument, c.field)
		if t.Failed() {
			t.Fatalf("the request: %v", c.req)
		}
	}
	s.Unchanged(t, before)
}

func providerRequest(period settlementv1.BudgetPeriod, zone string) *settlementv1.PutProviderRequest {
	return &settlementv1.PutProviderRequest{
		TenantId: apptest.Tenant, ProviderId: "new", Currency: apptest.Currency, BudgetPeriod: period, TimeZone: zone,
	}
}

// TestCase40TooMuchIsRefused sends a message of 10 MB, and more of everything than one call takes.
func TestCase40TooMuchIsRefused(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	before := s.Copy(t)
	many := func(n int) map[string]string {
		labels := map[string]string{}
		for i := range n {
			labels[fmt.Sprint("label-", i)] = ""
		}
		return labels
	}
	labelled := func(labels map[string]string) proto.Message {
		return apptest.Reserve("J", "", func(r *settlementv1.ReserveRequest) { r.Labels = labels })
	}
	_, err := try(t.Context(), s, labelled(map[string]string{"huge": strings.Repeat("x", 10<<20)}))
	is(t, "too large a message", status.Code(err), codes.ResourceExhausted)
	crowd := apptest.Rejected(apptest.Output, nil)
	crowd.Categories = make([]string, 100_001)
	for field, req := range map[string]proto.Message{
		"labels":                     labelled(many(65)),
		`labels["huge"]`:             labelled(map[string]string{"huge": strings.Repeat("x", 257)}),
		"policy_rejected.categories": apptest.Settlement("J", "K", crowd),
		"states":                     &settlementv1.ListReservationsRequest{TenantId: apptest.Tenant, States: make([]settlementv1.ReservationState, 100_001)},
		"page_size":                  &settlementv1.ListReservationsRequest{TenantId: apptest.Tenant, PageSize: new(int32(1001))},
		"cancelled.reason":           apptest.Settlement("J", "", &settlementv1.CancelledOutcome{Reason: strings.Repeat("x", 1025)}),
	} {
		_, err := try(t.Context(), s, req)
		is(t, field, status.Code(err), codes.InvalidArgument)
		if !strings.Contains(fmt.Sprint(err), field) {
			t.Errorf("%v does not name %s", err, field)
		}
		if size := proto.Size(status.Convert(err).Proto()); size > 10_000 {
			t.Errorf("%s: an error of %d bytes", field, size)
		}
	}
	s.Unchanged(t, before)
}
