// Package rpc is what every call passes on its way in and out: the gRPC server with its interceptors, the health service, and the one
// table that turns errors into statuses.
//
// On its way in and out a call is kept from panics, logged if it fails or is slow, given a deadline if it has none, held against the rules in
// its proto, and its error becomes a status.
package rpc
