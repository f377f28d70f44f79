package demo

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// batches are jobs whose calls come many in a message.
func batches() []scenario {
	return []scenario{{
		name: "batched", title: "in batches, each item twice beside a malformed one", permitSeconds: calm,
		steps: []step{reservedInBatch(credits()), works("first"), settledInBatch(delivered("first"))},
		want:  want{state: "COMPLETED", outcome: "COMPLETED", captured: creditsTaken, spent: GenerationCost, output: "RELEASABLE", posts: 1},
	}}
}

// reservedInBatch takes the three holds once, by a batch that asks for them twice.
func reservedInBatch(funding *settlementv1.Funding) step {
	return func(ctx context.Context, j *job) error {
		r := j.reserveRequest(funding, 600)
		resp, err := j.clients.reservations.BatchReserve(ctx, &settlementv1.BatchReserveRequest{
			TenantId: Tenant, Requests: []*settlementv1.ReserveRequest{r, {ReservationId: "a b"}, r},
		})
		if err != nil {
			return fmt.Errorf("reserve in a batch: %w", err)
		}
		var got []string
		for _, item := range resp.GetResults() {
			switch g := item.GetResponse().GetGranted(); {
			case g == nil:
				got = append(got, codes.Code(item.GetError().GetCode()).String())
			case g.GetReplayed():
				got = append(got, "replayed")
			default:
				got = append(got, "granted")
			}
		}
		return wantItems("reserve", got, "granted", "InvalidArgument", "replayed")
	}
}

// settledInBatch sends an outcome twice in one batch: the second time must move nothing.
func settledInBatch(o outcome) step {
	return func(ctx context.Context, j *job) error {
		r := o(j)
		r.ReservationId, r.Observer = j.reservation, settlementv1.Observer_OBSERVER_WORKER
		resp, err := j.clients.settlements.BatchSettle(ctx, &settlementv1.BatchSettleRequest{
			TenantId: Tenant, Requests: []*settlementv1.SettleRequest{r, {ReservationId: "a b"}, r},
		})
		if err != nil {
			return fmt.Errorf("settle in a batch: %w", err)
		}
		var got []string
		for _, item := range resp.GetResults() {
			if item.GetError() != nil {
				got = append(got, codes.Code(item.GetError().GetCode()).String())
				continue
			}
			got = append(got, item.GetResponse().GetDisposition().String())
		}
		return wantItems("settle", got, applied.String(), "InvalidArgument", replayed.String())
	}
}

func wantItems(what string, got []string, want ...string) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s in a batch: %v, want %v", what, got, want)
	}
	return nil
}
