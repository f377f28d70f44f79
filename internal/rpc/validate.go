package rpc

import (
	"errors"
	"sync"

	"buf.build/go/protovalidate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// validator knows the rules of the protos. The first broken one is enough: a hundred thousand of them would make an answer larger than the
// message.
var validator = sync.OnceValues(func() (protovalidate.Validator, error) {
	return protovalidate.New(protovalidate.WithFailFast())
})

// validate holds a message against the rules in its proto.
func validate(message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return nil
	}
	v, err := validator()
	if err != nil {
		return err
	}
	if err := v.Validate(m); err != nil {
		return violations(err)
	}
	return nil
}

// validatedStream holds every message of a stream against the rules in its proto.
type validatedStream struct{ grpc.ServerStream }

// RecvMsg receives a message, and refuses one that breaks a rule.
func (s validatedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return validate(m)
}

// violations names the field that breaks its rule.
func violations(err error) error {
	broken, ok := errors.AsType[*protovalidate.ValidationError](err)
	if !ok {
		return err
	}
	var bad errdetails.BadRequest
	for _, v := range broken.Violations {
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: protovalidate.FieldPathString(v.Proto.GetField()), Description: v.Proto.GetMessage(), Reason: v.Proto.GetRuleId(),
		})
	}
	first := bad.FieldViolations[0]
	return detailed(codes.InvalidArgument, first.Field+": "+first.Description, info("INVALID_ARGUMENT", first.Field), &bad)
}
