package statements

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/lane"
	"github.com/settlementd/settlementd/internal/reconcile/statements/statementdb"
)

const (
	// pageTime bounds the work on a page that has come, which goes on when its client has left.
	pageTime = time.Minute
	// pageTries is how often a page is taken anew because an import by another server took it meanwhile.
	pageTries = 3
	// findingsMax is how many findings the answer to an import lists.
	findingsMax = 1000
)

// ImportStatement takes a statement, page by page.
func (s *Server) ImportStatement(stream grpc.ClientStreamingServer[settlementv1.ImportStatementRequest, settlementv1.ImportStatementResponse]) error {
	ctx := stream.Context()
	first, err := stream.Recv()
	switch {
	case errors.Is(err, io.EOF):
		return invalid("header", "must be the first message")
	case err != nil:
		return err
	case first.GetHeader() == nil:
		return invalid("header", "must be the first message")
	}
	im, err := s.begin(ctx, first.GetHeader())
	if err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if message.GetPage() == nil {
			return invalid("header", "must be the first message only")
		}
		if err := im.take(ctx, message.GetPage().GetLines()); err != nil {
			return err
		}
	}
	done, err := im.complete(ctx)
	if err != nil {
		return err
	}
	found, err := s.findings(ctx, im.id, statementdb.Place{}, findingsMax)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&settlementv1.ImportStatementResponse{Statement: respondStatement(&done), Findings: found})
}

// imported is an import under way.
type imported struct {
	server   *Server
	id       statementdb.ID
	period   statementdb.Period
	currency string // of the provider, and so of everything on record
	last     int64  // the line that the stream has brought last
}

// begin finds the statement of a header, or makes it.
func (s *Server) begin(ctx context.Context, h *settlementv1.StatementHeader) (*imported, error) {
	period, err := readPeriod(h.GetPeriodStart(), h.GetPeriodEnd())
	if err != nil {
		return nil, err
	}
	id := idOf(h)
	stands, err := s.store.Begin(ctx, id, period)
	if err != nil {
		return nil, err
	}
	switch {
	case !stands.Period.Start.Equal(period.Start):
		return nil, differs("header.period_start", "statement %s stands with another period", id.Statement)
	case !stands.Period.End.Equal(period.End):
		return nil, differs("header.period_end", "statement %s stands with another period", id.Statement)
	}
	provider, err := s.reader.Provider(ctx, id.Tenant, id.Provider)
	if err != nil {
		return nil, err
	}
	return &imported{server: s, id: id, period: period, currency: provider.Currency}, nil
}

func readPeriod(start, end *timestamppb.Timestamp) (statementdb.Period, error) {
	if start == nil && end == nil {
		return statementdb.Period{}, nil
	}
	switch {
	case start.CheckValid() != nil:
		return statementdb.Period{}, invalid("header.period_start", "goes with a period_end")
	case end.CheckValid() != nil:
		return statementdb.Period{}, invalid("header.period_end", "goes with a period_start")
	}
	p := statementdb.Period{Start: start.AsTime().Truncate(time.Microsecond), End: end.AsTime().Truncate(time.Microsecond)}
	if !p.End.After(p.Start) {
		return statementdb.Period{}, invalid("header.period_end", "must be after period_start")
	}
	return p, nil
}

// take takes a page. From when its turn has come, it is taken to the end whoever waits for it.
func (im *imported) take(ctx context.Context, lines []*settlementv1.StatementLine) error {
	page := make([]charge, len(lines))
	for i, line := range lines {
		if line.GetLineNumber() <= im.last {
			return invalid(fmt.Sprintf("page.lines[%d].line_number", i), fmt.Sprintf("must be above that of the line before, %d", im.last))
		}
		im.last, page[i] = line.GetLineNumber(), readCharge(line)
	}
	select {
	case <-im.server.stopping:
		return fmt.Errorf("%w: the import goes on from its checkpoint", lane.ErrClosed)
	default:
	}
	end, err := im.server.turns.take(ctx, im.id)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTime)
	defer cancel()
	for range pageTries {
		taken, err := im.takePage(ctx, page)
		if err != nil || taken {
			return err
		}
	}
	return fmt.Errorf("%w: the statement is imported elsewhere, too", lane.ErrAborted)
}

// takePage judges what is new of a page and records it. It answers false where somebody else has moved the checkpoint meanwhile.
func (im *imported) takePage(ctx context.Context, page []charge) (taken bool, err error) {
	checkpoint, fresh, err := im.fresh(ctx, page)
	if err != nil || len(fresh) == 0 {
		return true, err
	}
	verdicts, err := im.judge(ctx, fresh)
	if err != nil {
		return false, err
	}
	var lines []statementdb.Line
	for i := range verdicts {
		if err = verdicts[i].err; err != nil {
			break // what was decided before it stands, and is not to be decided again
		}
		lines = append(lines, verdicts[i].line)
	}
	if len(lines) == 0 {
		return false, err
	}
	taken, recordErr := im.server.store.Record(ctx, im.id, checkpoint, lines)
	if recordErr != nil {
		return false, recordErr
	}
	return taken, err
}

// fresh leaves out the lines that were taken before. One that comes again with another content belongs to another statement.
func (im *imported) fresh(ctx context.Context, page []charge) (checkpoint int64, fresh []charge, err error) {
	numbers := make([]int64, len(page))
	for i := range page {
		numbers[i] = page[i].number
	}
	checkpoint, taken, err := im.server.store.Taken(ctx, im.id, numbers)
	if err != nil {
		return 0, nil, err
	}
	for i := range page {
		c := &page[i]
		if c.number > checkpoint {
			return checkpoint, page[i:], nil
		}
		if hash, ok := taken[c.number]; !ok || hash != c.hash {
			return 0, nil, differs(fmt.Sprintf("page.lines[%d]", i),
				"line %d of statement %s was taken with another content; a corrected statement needs an id of its own", c.number, im.id.Statement)
		}
	}
	return checkpoint, nil, nil
}

func invalid(field, text string) error {
	return &ledger.Error{Kind: ledger.Invalid, Field: field, Message: text}
}

func differs(field, format string, args ...any) error {
	return &ledger.Error{Kind: ledger.AlreadyExists, Field: field, Message: fmt.Sprintf(format, args...)}
}
