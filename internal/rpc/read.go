package rpc

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that ours is made of
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// reading is a message on its way in, and what is wrong with its bytes. gRPC answers INTERNAL for bytes that make no message; to callers they
// are an argument like any other.
type reading struct {
	message proto.Message
	err     error
}

// codec is gRPC's own for the messages of our services, but keeps what is wrong with one that is being read.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal reads a message.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*reading)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if err := c.CodecV2.Unmarshal(data, r.message); err != nil {
		r.err = unreadable(data.Materialize(), r.message.ProtoReflect().Descriptor(), err)
	}
	return nil
}

// unreadable tells a caller what is wrong with a message's bytes.
func unreadable(data []byte, m protoreflect.MessageDescriptor, err error) error {
	if field := notUTF8(data, m); field != "" {
		return withField(codes.InvalidArgument, "INVALID_ARGUMENT", field, field+": is not UTF-8")
	}
	return withField(codes.InvalidArgument, "INVALID_ARGUMENT", "", "the bytes are no "+string(m.Name())+": "+err.Error())
}

// notUTF8 returns the path of the first string that is not UTF-8, or nothing.
func notUTF8(data []byte, m protoreflect.MessageDescriptor) string {
	items := map[protowire.Number]int{} // of lists, so far
	for len(data) > 0 {
		number, wire, value, n := consume(data)
		if n < 0 {
			return ""
		}
		data = data[n:]
		field := m.Fields().ByNumber(number)
		if field == nil || wire != protowire.BytesType {
			continue
		}
		name := string(field.Name())
		if field.IsList() {
			name = fmt.Sprintf("%s[%d]", name, items[number])
			items[number]++
		}
		switch field.Kind() {
		case protoreflect.StringKind:
			if !utf8.Valid(value) {
				return name
			}
		case protoreflect.MessageKind:
			if path := notUTF8(value, field.Message()); path != "" && field.IsMap() {
				return name
			} else if path != "" {
				return name + "." + path
			}
		default:
		}
	}
	return ""
}

// consume splits a field off, with its content where it has a length.
func consume(data []byte) (number protowire.Number, wire protowire.Type, value []byte, n int) {
	number, wire, tag := protowire.ConsumeTag(data)
	if tag < 0 {
		return 0, 0, nil, tag
	}
	n = protowire.ConsumeFieldValue(number, wire, data[tag:])
	if n < 0 {
		return 0, 0, nil, n
	}
	if wire == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(data[tag:])
	}
	return number, wire, value, tag + n
}

// readers register services whose messages are read so.
type readers struct{ grpc.ServiceRegistrar }

// RegisterService registers a service with handlers that read its messages.
func (r readers) RegisterService(service *grpc.ServiceDesc, impl any) {
	d := *service
	d.Methods = slices.Clone(d.Methods)
	for i := range d.Methods {
		handle := d.Methods[i].Handler
		d.Methods[i].Handler = func(srv any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			return handle(srv, ctx, func(v any) error { return read(receive, v) }, interceptor)
		}
	}
	r.ServiceRegistrar.RegisterService(&d, impl)
}

// read receives a message, and tells what is wrong with its bytes.
func read(receive func(any) error, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return receive(v)
	}
	r := &reading{message: m}
	if err := receive(r); err != nil {
		return err
	}
	return r.err
}

// reader is a stream whose messages are read so.
type reader struct{ grpc.ServerStream }

// RecvMsg receives a message.
func (s reader) RecvMsg(m any) error { return read(s.ServerStream.RecvMsg, m) }
