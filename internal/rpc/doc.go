// Package rpc is what every call passes on its way in and out: the gRPC server with its interceptors, the health service, and the one
// table that turns errors into statuses.
//
// The interceptors, outermost first: recover from panics, log failed and slow calls, give a call without a deadline one, turn the handler's
// error into a status, validate the message against the rules in its proto.
package rpc
