package statements

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"unicode"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/reconcile/statements/statementdb"
)

// charge is a line of a statement: what it says, or why it says nothing.
type charge struct {
	number int64
	hash   statementdb.Hash
	key    ledger.RequestKey
	task   ledger.TaskID
	cost   *ledger.Money
	fault  string // empty: the line can be read
}

const (
	idMax   = 128 // bytes of a request key or task id
	textMax = 256 // runes that are kept of what could not be read
)

// readCharge reads a line. What is wrong with it is told in words; the rest is kept as far as people can use it.
func readCharge(m *settlementv1.StatementLine) charge {
	c := charge{number: m.GetLineNumber(), hash: hashOf(m)}
	cost, fault := readCost(m.GetCost(), m.GetCurrency())
	c.cost = cost
	switch {
	case m.GetUnreadable() != "":
		c.fault = presentable(m.GetUnreadable())
	case m.GetRequestKey() == "" && m.GetProviderTaskId() == "":
		c.fault = "names no request: request_key and provider_task_id are empty"
	case m.GetRequestKey() != "" && !isID(m.GetRequestKey()):
		c.fault = "request_key: " + noID
	case m.GetProviderTaskId() != "" && !isID(m.GetProviderTaskId()):
		c.fault = "provider_task_id: " + noID
	default:
		c.fault = fault
	}
	c.key, c.task = ledger.RequestKey(presentable(m.GetRequestKey())), ledger.TaskID(presentable(m.GetProviderTaskId()))
	return c
}

const noID = "want 1 to 128 printable ASCII characters without space"

func isID(s string) bool {
	return len(s) <= idMax && !strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' })
}

// readCost reads an amount of money, or tells what is wrong with it.
func readCost(amount, currency string) (cost *ledger.Money, fault string) {
	micros, err := ledger.ParseMicros(amount)
	switch {
	case amount == "":
		return nil, "cost: is empty"
	case err != nil:
		return nil, "cost: " + err.Error()
	case !isCurrency(currency):
		return nil, "currency: want three capital letters"
	}
	return &ledger.Money{Micros: micros, Currency: currency}, ""
}

func isCurrency(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// presentable shortens what somebody wrote, and leaves out what no table or terminal should be given.
func presentable(s string) string {
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
	if runes := []rune(clean); len(runes) > textMax {
		return string(runes[:textMax-1]) + "…"
	}
	return clean
}

// hashOf tells the line's content from another. Why a reader could make nothing of it is in the reader's words, which may change.
func hashOf(m *settlementv1.StatementLine) statementdb.Hash {
	h := sha256.New()
	for _, field := range []string{m.GetRequestKey(), m.GetProviderTaskId(), m.GetCost(), m.GetCurrency()} {
		_ = binary.Write(h, binary.BigEndian, uint64(len(field))) // a hash takes everything
		h.Write([]byte(field))
	}
	if m.GetUnreadable() != "" {
		h.Write([]byte{1})
	}
	return statementdb.Hash(h.Sum(nil)[:len(statementdb.Hash{})])
}

// line starts the record of the charge.
func (c *charge) line(v statementdb.Verdict, reason string) statementdb.Line {
	return statementdb.Line{
		Number: c.number, Hash: c.hash, Verdict: v, Key: c.key, Task: c.task, Cost: c.cost, Reason: reason,
	}
}

// settled is the record of a charge that is matched with a request. Key and task are the journal's.
func (c *charge) settled(l *ledger.Line, v statementdb.Verdict, reason string) statementdb.Line {
	record := c.line(v, reason)
	record.Key, record.Task, record.Reservation, record.Recorded = l.Key, l.Task, l.Reservation, onRecord(l)
	return record
}

// onRecord is what the provider charges for a request as far as is known, operators' decisions included.
func onRecord(l *ledger.Line) *ledger.Micros {
	if l.Cost == nil {
		return nil
	}
	return new(*l.Cost + l.Adjustment)
}
