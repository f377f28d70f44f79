// Package rpc is what every call passes on its way in and out: the gRPC server with its interceptors, the health service, and the one
// table that turns errors into statuses.
//
// On its way in and out a call is kept from panics, logged if it fails or is slow, given a deadline if it has none, held against the rules in
// its proto, and its error becomes a status.
//
// A batch RPC is taken apart here: each item is held against the rules of its own message and parsed as if it had come alone, the good ones
// join the tenant's lane together, and each is answered at its place, by an answer or by the status that it would have had alone. The faults
// of a batch make one line in the log.
package rpc
