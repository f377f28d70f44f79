package postgres

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// encodeArrays has a connection encode the arrays of the hot path an array at a time. pgx goes element by element and puts each on the heap,
// which is a third of what it costs the server to write a batch. Arrays of other types, and arrays as text, stay with pgx.
func encodeArrays(conn *pgx.Conn) {
	m := conn.TypeMap()
	for _, oid := range []uint32{
		pgtype.TextArrayOID, pgtype.Int8ArrayOID, pgtype.Int4ArrayOID, pgtype.BoolArrayOID, pgtype.TimestamptzArrayOID, pgtype.TIDArrayOID,
	} {
		if t, ok := m.TypeForOID(oid); ok {
			if codec, ok := t.Codec.(*pgtype.ArrayCodec); ok {
				m.RegisterType(&pgtype.Type{Name: t.Name, OID: oid, Codec: arrayCodec{codec}})
			}
		}
	}
}

// arrayCodec is pgx's for everything but the encoding of well-known slices.
type arrayCodec struct{ *pgtype.ArrayCodec }

// PlanEncode implements pgtype.Codec.
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	element := c.ElementType.OID
	if format != pgtype.BinaryFormatCode || element != elementOf(value) {
		return c.ArrayCodec.PlanEncode(m, oid, format, value) // which converts, or refuses
	}
	switch value.(type) {
	case []string:
		return arrayPlan[[]string, string]{element, always[string], appendText}
	case []int64:
		return arrayPlan[[]int64, int64]{element, always[int64], appendInt8}
	case []bool:
		return arrayPlan[[]bool, bool]{element, always[bool], appendBool}
	case []time.Time:
		return arrayPlan[[]time.Time, time.Time]{element, always[time.Time], appendTime}
	case []pgtype.TID:
		return arrayPlan[[]pgtype.TID, pgtype.TID]{element, func(t *pgtype.TID) bool { return t.Valid }, appendTID}
	case pgtype.FlatArray[pgtype.Text]:
		return arrayPlan[pgtype.FlatArray[pgtype.Text], pgtype.Text]{element, func(t *pgtype.Text) bool { return t.Valid },
			func(buf []byte, t *pgtype.Text) []byte { return appendText(buf, &t.String) }}
	case pgtype.FlatArray[pgtype.Int8]:
		return arrayPlan[pgtype.FlatArray[pgtype.Int8], pgtype.Int8]{element, func(n *pgtype.Int8) bool { return n.Valid },
			func(buf []byte, n *pgtype.Int8) []byte { return appendInt8(buf, &n.Int64) }}
	case pgtype.FlatArray[pgtype.Int4]:
		return arrayPlan[pgtype.FlatArray[pgtype.Int4], pgtype.Int4]{element, func(n *pgtype.Int4) bool { return n.Valid },
			func(buf []byte, n *pgtype.Int4) []byte {
				return binary.BigEndian.AppendUint32(appendLength(buf, 4), uint32(n.Int32))
			}}
	case pgtype.FlatArray[pgtype.Timestamptz]:
		return arrayPlan[pgtype.FlatArray[pgtype.Timestamptz], pgtype.Timestamptz]{element,
			func(t *pgtype.Timestamptz) bool { return t.Valid && t.InfinityModifier == pgtype.Finite },
			func(buf []byte, t *pgtype.Timestamptz) []byte { return appendTime(buf, &t.Time) }}
	default:
		return c.ArrayCodec.PlanEncode(m, oid, format, value)
	}
}

// elementOf is the type that the elements of a well-known slice are written as, or none.
func elementOf(slice any) uint32 {
	switch slice.(type) {
	case []string, pgtype.FlatArray[pgtype.Text]:
		return pgtype.TextOID
	case []int64, pgtype.FlatArray[pgtype.Int8]:
		return pgtype.Int8OID
	case pgtype.FlatArray[pgtype.Int4]:
		return pgtype.Int4OID
	case []bool:
		return pgtype.BoolOID
	case []time.Time, pgtype.FlatArray[pgtype.Timestamptz]:
		return pgtype.TimestamptzOID
	case []pgtype.TID:
		return pgtype.TIDOID
	default:
		return 0
	}
}

// arrayPlan encodes a slice of V as a one-dimensional array: the number of dimensions, whether there are NULLs, the type of the elements, the
// length, the first index, and then every element behind its length.
type arrayPlan[S ~[]V, V any] struct {
	element uint32
	valid   func(*V) bool // false is NULL
	append  func([]byte, *V) []byte
}

// Encode implements pgtype.EncodePlan.
func (p arrayPlan[S, V]) Encode(value any, buf []byte) ([]byte, error) {
	values := value.(S)
	if values == nil {
		return nil, nil
	}
	start := len(buf)
	if room := 20 + 16*len(values); cap(buf)-len(buf) < room {
		buf = slices.Grow(buf, max(room, cap(buf))) // once for an array, not every few elements
	}
	if len(values) == 0 {
		return appendHeader(buf, 0, p.element), nil
	}
	buf = appendHeader(buf, 1, p.element)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(values)))
	buf = binary.BigEndian.AppendUint32(buf, 1)
	for i := range values {
		if p.valid(&values[i]) {
			buf = p.append(buf, &values[i])
			continue
		}
		binary.BigEndian.PutUint32(buf[start+4:], 1)
		buf = appendLength(buf, -1)
	}
	return buf, nil
}

func always[V any](*V) bool { return true }

func appendHeader(buf []byte, dimensions, element uint32) []byte {
	buf = binary.BigEndian.AppendUint32(buf, dimensions)
	buf = binary.BigEndian.AppendUint32(buf, 0) // no NULLs so far
	return binary.BigEndian.AppendUint32(buf, element)
}

func appendLength(buf []byte, n int) []byte { return binary.BigEndian.AppendUint32(buf, uint32(n)) }

func appendText(buf []byte, s *string) []byte { return append(appendLength(buf, len(*s)), *s...) }

func appendInt8(buf []byte, n *int64) []byte {
	return binary.BigEndian.AppendUint64(appendLength(buf, 8), uint64(*n))
}

func appendBool(buf []byte, b *bool) []byte {
	if *b {
		return append(appendLength(buf, 1), 1)
	}
	return append(appendLength(buf, 1), 0)
}

// epoch is where PostgreSQL counts microseconds from.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

func appendTime(buf []byte, t *time.Time) []byte {
	return binary.BigEndian.AppendUint64(appendLength(buf, 8), uint64(t.UnixMicro()-epoch))
}

func appendTID(buf []byte, t *pgtype.TID) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(appendLength(buf, 6), t.BlockNumber), t.OffsetNumber)
}
