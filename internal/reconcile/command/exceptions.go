package command

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// pageSize is how many rows of a list are asked for at a time.
const pageSize = 1000

// Exceptions lists the facts that could not be applied.
func (s *Session) Exceptions(ctx context.Context, req *settlementv1.ListExceptionsRequest) error {
	req.TenantId, req.PageSize = s.Tenant, new(int32(pageSize))
	client := settlementv1.NewReconciliationServiceClient(s.Conn)
	all := &settlementv1.ListExceptionsResponse{}
	for {
		page, err := call(ctx, client.ListExceptions, req)
		if err != nil {
			return err
		}
		all.Exceptions = append(all.Exceptions, page.GetExceptions()...)
		if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
			break
		}
	}
	if s.Output == JSON {
		return writeJSON(s.Out, all)
	}
	return s.show(exceptionsTable(all.GetExceptions()))
}

func exceptionsTable(found []*settlementv1.Exception) string {
	if len(found) == 0 {
		return "no exception"
	}
	t := newTable("exception", "reservation", "request", "reason", "fact", "observer", "count", "first seen", "last seen", "resolution")
	right(t, 7)
	for _, e := range found {
		t.AppendRow(table.Row{
			e.GetExceptionId(), e.GetReservationId(), e.GetRequestKey(), wordOf(e.GetReason()), e.GetFact(), wordOf(e.GetObserver()), e.GetCount(),
			moment(e.GetFirstSeenAt()), moment(e.GetLastSeenAt()), resolution(e),
		})
	}
	return t.Render()
}

func resolution(e *settlementv1.Exception) string {
	if e.GetResolution() == settlementv1.ExceptionResolution_EXCEPTION_RESOLUTION_UNSPECIFIED {
		return soso("open")
	}
	return good(wordOf(e.GetResolution())) + ": " + e.GetResolutionReason()
}

// Resolve decides on an exception. It fails where the exception was not resolved as asked.
func (s *Session) Resolve(ctx context.Context, req *settlementv1.ResolveExceptionRequest) error {
	req.TenantId = s.Tenant
	resp, err := call(ctx, settlementv1.NewReconciliationServiceClient(s.Conn).ResolveException, req)
	if err != nil {
		return err
	}
	if s.Output == JSON {
		err = writeJSON(s.Out, resp)
	} else {
		err = s.show(exceptionsTable([]*settlementv1.Exception{resp.GetException()}))
	}
	switch {
	case err != nil:
		return err
	case resp.GetRefused() == settlementv1.ResolveRefusal_RESOLVE_REFUSAL_ALREADY_RESOLVED:
		return fmt.Errorf("refused: the exception was resolved the other way before (reason %s)", wordOf(resp.GetRefused()))
	case resp.GetRefused() != settlementv1.ResolveRefusal_RESOLVE_REFUSAL_UNSPECIFIED:
		return fmt.Errorf("refused: the fact states no cost in the reservation's currency (reason %s)", wordOf(resp.GetRefused()))
	case resp.GetReplayed():
		s.note("the exception was resolved this way before")
	}
	return nil
}
