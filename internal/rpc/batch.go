package rpc

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
)

// batchItem is a message that can also be sent alone.
type batchItem interface {
	proto.Message
	GetTenantId() string
}

// Batch carries out the items of a batch RPC, each as if it had been sent alone. An item that breaks a rule of its message, or that parse
// refuses, is answered in its place and not run. Exactly one of a result's two fields is set. The error is that of the whole call. The faults of
// its items, which callers see as a status only, make one line in the log.
func Batch[M batchItem, A any](
	ctx context.Context, log *slog.Logger, lanes *lane.Lanes, tenant string, requests []M, parse func(M) (lane.Item[A], error),
) ([]BatchResult[A], error) {
	results := make([]BatchResult[A], len(requests))
	items, places := make([]lane.Item[A], 0, len(requests)), make([]int, 0, len(requests))
	for i, m := range requests {
		item, err := checked(tenant, m, parse)
		if err != nil {
			results[i].Error = statusOf(err)
			continue
		}
		items, places = append(items, item), append(places, i)
	}
	answers, err := lane.DoAll(ctx, lanes, ledger.TenantID(tenant), items)
	if err != nil {
		return nil, err
	}
	faults, first := 0, error(nil)
	for n := range answers {
		r := &results[places[n]]
		if answers[n].Err == nil {
			r.Answer = &answers[n].Answer
			continue
		}
		r.Error = statusOf(answers[n].Err)
		if hidden(codes.Code(r.Error.GetCode())) {
			faults, first = faults+1, cmp.Or(first, answers[n].Err)
		}
	}
	if faults > 0 {
		log.LogAttrs(ctx, slog.LevelError, "fault", slog.Int("items", faults), slog.Int("of", len(requests)), slog.Any("error", first))
	}
	return results, nil
}

// BatchResult is the answer of the rules to an item, or its status.
type BatchResult[A any] struct {
	Answer *A
	Error  *spb.Status
}

func checked[M batchItem, A any](tenant string, m M, parse func(M) (lane.Item[A], error)) (lane.Item[A], error) {
	if err := validate(m); err != nil {
		return lane.Item[A]{}, err
	}
	if m.GetTenantId() != tenant {
		return lane.Item[A]{}, withField(codes.InvalidArgument, "INVALID_ARGUMENT", "tenant_id",
			fmt.Sprintf("tenant_id: is %s in a batch of %s", m.GetTenantId(), tenant))
	}
	return parse(m)
}

func statusOf(err error) *spb.Status { return status.Convert(Status(err)).Proto() }
