package app_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// TestLargeAnswersFitWhatTheREADMESays weighs reservations with the longest ids and reasons, a generation and a check, with and without labels.
func TestLargeAnswersFitWhatTheREADMESays(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	r := &settlementv1.Reservation{}
	fill(r.ProtoReflect())
	r.Lines = append(r.Lines, proto.CloneOf(r.Lines[0]))
	r.CancelReason = strings.Repeat("x", 1024)
	r.Labels = map[string]string{}
	for i := range 64 {
		r.Labels[fmt.Sprintf("%0128d", i)] = strings.Repeat("x", 256)
	}
	reserved := &settlementv1.BatchReserveResponse{Results: []*settlementv1.ReserveResult{{
		Result: &settlementv1.ReserveResult_Response{Response: &settlementv1.ReserveResponse{
			Result: &settlementv1.ReserveResponse_Granted{Granted: &settlementv1.Granted{Reservation: r}},
		}},
	}}}
	size := proto.Size(reserved)
	r.Labels = nil
	t.Logf("%d bytes, %d without labels", size, proto.Size(reserved))
	if 1000*size > 32*mib || 100*size > 4*mib {
		t.Errorf("the largest takes %d bytes", size)
	}
}

// fill gives every field of a message a value as long as an id can be.
func fill(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap():
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			fill(m.Mutable(f).List().AppendMutable().Message())
		case f.IsList():
			for range 32 { // categories
				m.Mutable(f).List().Append(protoreflect.ValueOfString(strings.Repeat("x", 128)))
			}
		case f.Kind() == protoreflect.MessageKind:
			fill(m.Mutable(f).Message())
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(strings.Repeat("x", 128)))
		}
	}
}
