package cases_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// isID tells whether a field is an identifier.
func isID(s spot) bool {
	name := string(s.field.Name())
	return s.field.Kind() == protoreflect.StringKind && !s.field.IsList() && name != "page_token" &&
		(strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "_token"))
}

// TestCase39AnIdOfAnotherShapeIsMalformed puts every kind of bad id into every id of every request, at every depth.
func TestCase39AnIdOfAnotherShapeIsMalformed(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	before := s.Copy(t)
	bad := []string{
		"", " ", "\t", "a b", "a\x00b", "id\n", "\nid", "id\u00e9", "ide\u0301", "id\u200b", "\ufeffid", "id\x7f",
		strings.Repeat("a", 129), strings.Repeat("a", 10_000),
	}
	narrow := append(slices.Clone(bad), "a.b", "a/b", "a!", strings.Repeat("a", 65))
	n := 0
	each(isID, func(req proto.Message, at spot) {
		ids := bad
		if at.field.Name() == "tenant_id" || at.field.Name() == "job_id" {
			ids = narrow
		}
		for _, id := range ids {
			at.in.Set(at.field, protoreflect.ValueOfString(id))
			_, err := try(t.Context(), s, req)
			wantStatus(t, err, codes.InvalidArgument, at.path)
			n++
		}
	})
	if n < 1000 {
		t.Errorf("only %d bad ids were tried", n)
	}
	s.Unchanged(t, before)
}

// TestCase39BytesThatAreNoTextAreMalformed puts bytes that are not UTF-8 into every string of every request.
func TestCase39BytesThatAreNoTextAreMalformed(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	before := s.Copy(t)
	isText := func(at spot) bool { return at.field.Kind() == protoreflect.StringKind }
	each(isText, func(req proto.Message, at spot) {
		raw := protowire.AppendTag(nil, at.field.Number(), protowire.BytesType)
		at.in.SetUnknown(protowire.AppendBytes(raw, []byte("a\xff")))
		path := at.path
		if at.field.IsList() {
			path = fmt.Sprintf("%s[%d]", path, at.in.Get(at.field).List().Len())
		}
		_, err := try(t.Context(), s, req)
		wantStatus(t, err, codes.InvalidArgument, path)
	})
	label := apptest.Reserve("J", "")
	entry := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte("\xc3"))
	label.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 10, protowire.BytesType), entry))
	_, err := try(t.Context(), s, label)
	wantStatus(t, err, codes.InvalidArgument, "labels")
	cut := apptest.Reserve("J", "")
	cut.ProtoReflect().SetUnknown(protowire.AppendTag(nil, 10, protowire.BytesType)) // no length, no bytes
	_, err = try(t.Context(), s, cut)
	wantStatus(t, err, codes.InvalidArgument, "")
	s.Unchanged(t, before)
}

// TestCase39IdsAreComparedByteForByte uses ids that differ only in what a database's collation might not see, and that mean something to SQL.
func TestCase39IdsAreComparedByteForByte(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.BudgetLimitMicros = 1_000_000 })
	defer s.Verify(t)
	manySlots(t, s)
	ids := []string{
		"Foo", "foo", "FOO", "foo.", "foo-", "f-oo", "foo_", "0", "00", "1e0", "%", "_", "*", `\`, `"`, "'", "';--", "{a,b}", "NULL", "null", "x,y", "a|b", "~!@#$^&()",
		strings.Repeat("a", 128), strings.Repeat("!", 128),
	}
	for i, id := range ids {
		got := s.Granted(t, id, "", credits(int64(i)), keyOf(id))
		if got.GetReplayed() {
			t.Errorf("%q is a replay", id)
		}
	}
	for i, id := range ids {
		r := s.Get(t, id)
		is(t, "id", r.GetReservationId(), id)
		is(t, "credits of "+id, r.GetCredit().GetTaken(), int64(i))
		wantAnswer(t, s.Settle(t, id, id, apptest.Completed(apptest.Money(int64(i)))), applied, completed)
	}
	var listed []string
	for token := ""; ; {
		page := must(s.Reservations.ListReservations(t.Context(), &settlementv1.ListReservationsRequest{
			TenantId: apptest.Tenant, PageSize: new(int32(7)), PageToken: token,
		}))(t)
		for _, r := range page.GetReservations() {
			listed = append(listed, r.GetReservationId())
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	is(t, "the list, page by page", strings.Join(listed, " "), strings.Join(ids, " "))
}

// keyOf asks for a permit under the given key.
func keyOf(key string) func(*settlementv1.ReserveRequest) {
	return func(r *settlementv1.ReserveRequest) {
		r.Submission = &settlementv1.Submission{RequestKey: key, PermitToken: key}
	}
}

// TestCase39OneBadCallNeverSpoilsItsNeighbours sends good and bad calls at once, so that they share transactions.
func TestCase39OneBadCallNeverSpoilsItsNeighbours(t *testing.T) {
	t.Parallel()
	s := seeded(t, func(r *settlementv1.PutProviderRequest) { r.BudgetLimitMicros = 1_000_000 })
	defer s.Verify(t)
	manySlots(t, s)
	s.Granted(t, "taken", "taken")
	kinds := []struct {
		ask  func(*settlementv1.ReserveRequest)
		code codes.Code
	}{
		{credits(1), codes.OK},
		{func(r *settlementv1.ReserveRequest) { r.AccountId = "nobody" }, codes.NotFound},
		{func(r *settlementv1.ReserveRequest) { r.Currency = "EUR" }, codes.FailedPrecondition},
		{func(r *settlementv1.ReserveRequest) { r.ReservationId = "taken" }, codes.AlreadyExists},
		{func(r *settlementv1.ReserveRequest) { r.ReservationId = "bad\n" }, codes.InvalidArgument},
		{credits(1_000_000_000), codes.OK}, // denied
		{ttl(3_153_600_000), codes.InvalidArgument},
	}
	var calls sync.WaitGroup
	for i := range 10 * len(kinds) {
		calls.Go(func() {
			kind := kinds[i%len(kinds)]
			id := fmt.Sprint("J", i)
			resp, err := s.Reservations.Reserve(t.Context(), apptest.Reserve(id, id, kind.ask))
			wantStatusOrOK(t, err, kind.code)
			if wanted := i%len(kinds) == 0; wanted != (resp.GetGranted() != nil) {
				t.Errorf("call %d: %v, %v", i, resp, err)
			}
		})
	}
	calls.Wait()
	is(t, "slots", s.Books(t).Slots, 11)
}

func wantStatusOrOK(t *testing.T, err error, code codes.Code) {
	t.Helper()
	if code != codes.OK {
		wantStatus(t, err, code, "")
	} else if err != nil {
		t.Error(err)
	}
}

// TestCase39AStreamIsNoWayAround sends malformed requests to a method that answers with a stream.
func TestCase39AStreamIsNoWayAround(t *testing.T) {
	t.Parallel()
	s := seeded(t)
	defer s.Verify(t)
	notText := &settlementv1.DrainJobRequest{TenantId: apptest.Tenant, MaxChunks: 1}
	notText.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), []byte("a\xff")))
	for field, req := range map[string]*settlementv1.DrainJobRequest{
		"tenant_id":  {TenantId: "a b", JobId: "job", MaxChunks: 1},
		"max_chunks": {TenantId: apptest.Tenant, JobId: "job", MaxChunks: 65},
		"job_id":     notText,
	} {
		stream := must(settlementv1.NewReconciliationJobServiceClient(s.Conn).DrainJob(t.Context(), req))(t)
		_, err := stream.Recv()
		wantStatus(t, err, codes.InvalidArgument, field)
	}
}
