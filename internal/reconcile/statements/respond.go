package statements

import (
	"strings"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/reconcile/statements/statementdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

func respondStatement(s *statementdb.Statement) *settlementv1.Statement {
	return &settlementv1.Statement{
		ProviderId: string(s.Provider), StatementId: s.Statement,
		PeriodStart: wire.Time(s.Period.Start), PeriodEnd: wire.Time(s.Period.End),
		LinesThrough: s.Through, Lines: s.Lines, Matched: s.Matched, AlreadyKnown: s.AlreadyKnown, Repeated: s.Repeated,
		Mismatched: s.Mismatched, UnknownToUs: s.UnknownToUs, UnknownToThem: s.UnknownToThem, Bad: s.Bad,
		CreatedAt: wire.Time(s.CreatedAt), UpdatedAt: wire.Time(s.UpdatedAt), CompletedAt: wire.Time(s.CompletedAt),
	}
}

// respondFinding shows a finding. What is on record is in the provider's currency, always.
func respondFinding(l *statementdb.Line, currency string) *settlementv1.StatementFinding {
	m := &settlementv1.StatementFinding{
		LineNumber: l.Number, Kind: wire.StatementFindings.Enum(string(l.Verdict)), RequestKey: string(l.Key), ProviderTaskId: string(l.Task),
		ReservationId: string(l.Reservation), Recorded: wire.Money(l.Recorded, currency), ExceptionId: string(l.Exception), Reason: l.Reason,
	}
	if l.Cost != nil {
		m.Cost = wire.Money(&l.Cost.Micros, l.Cost.Currency)
	}
	return m
}

// placeToken names a finding's place: lists page by a time and a text, and a line number is so many microseconds. Only what is no line has
// its place by its key; the key of a line is whatever the provider wrote, and may be long.
func placeToken(f *settlementv1.StatementFinding) string {
	key := ""
	if f.GetLineNumber() == 0 {
		key = f.GetRequestKey()
	}
	return wire.PageToken(time.UnixMicro(f.GetLineNumber()), "key "+key)
}

func parsePlace(token string) (statementdb.Place, error) {
	at, text, err := wire.ParsePageToken(token)
	if err != nil || token == "" {
		return statementdb.Place{}, err
	}
	key, ok := strings.CutPrefix(text, "key ")
	if !ok || at.UnixMicro() < 0 {
		return statementdb.Place{}, wire.ErrPageToken
	}
	return statementdb.Place{Number: at.UnixMicro(), Key: ledger.RequestKey(key)}, nil
}
