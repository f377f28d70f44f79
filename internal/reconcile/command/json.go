package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// writeJSON writes a message for programs. Names are those of the protos, enum values are written without their prefix, whole numbers are
// numbers (the largest amount is exact in a double), times are RFC 3339 in UTC. Fields without presence are always there; absent ones are
// left out. So a manifest in an answer is a manifest that can be registered.
func writeJSON(w io.Writer, m proto.Message) error {
	var b bytes.Buffer
	if err := json.Indent(&b, encode(m.ProtoReflect()), "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := b.WriteTo(w)
	return err
}

// encode writes a message without any space.
func encode(m protoreflect.Message) []byte {
	b := []byte{'{'}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.HasPresence() && !m.Has(f) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, quote(string(f.Name()))...)
		b = append(b, ':')
		b = append(b, encodeField(f, m.Get(f))...)
	}
	return append(b, '}')
}

func encodeField(f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch {
	case f.IsMap():
		return encodeMap(f, v.Map())
	case f.IsList():
		b := []byte{'['}
		for i := range v.List().Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, encodeValue(f, v.List().Get(i))...)
		}
		return append(b, ']')
	default:
		return encodeValue(f, v)
	}
}

func encodeMap(f protoreflect.FieldDescriptor, m protoreflect.Map) []byte {
	var members []string
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		members = append(members, string(quote(k.String()))+":"+string(encodeValue(f.MapValue(), v)))
		return true
	})
	slices.Sort(members)
	return []byte("{" + strings.Join(members, ",") + "}")
}

func encodeValue(f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return strconv.AppendBool(nil, v.Bool())
	case protoreflect.EnumKind:
		return quote(word(f.Enum(), v.Enum()))
	case protoreflect.MessageKind:
		if at, ok := v.Message().Interface().(*timestamppb.Timestamp); ok {
			return quote(at.AsTime().Format(time.RFC3339Nano))
		}
		return encode(v.Message())
	case protoreflect.StringKind:
		return quote(v.String())
	default: // whole numbers: the API has no others
		return fmt.Append(nil, v.Interface())
	}
}

// word is an enum value without its prefix; unspecified is empty, and a value of a later server its number.
func word(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	prefix := strings.TrimSuffix(string(e.Values().ByNumber(0).Name()), "UNSPECIFIED")
	switch v := e.Values().ByNumber(n); {
	case n == 0:
		return ""
	case v == nil:
		return strconv.Itoa(int(n))
	default:
		return strings.TrimPrefix(string(v.Name()), prefix)
	}
}

// wordOf is the word of an enum value of the API.
func wordOf(e protoreflect.Enum) string { return word(e.Descriptor(), e.Number()) }

func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text is always written
	return bytes.TrimRight(b.Bytes(), "\n")
}
