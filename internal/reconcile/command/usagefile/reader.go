// Package usagefile reads a provider's usage export: delimiter-separated text with a header, of which the columns request_key or
// provider_task_id, cost or cost_micros, and currency are taken and others are left alone.
//
// A cost is a decimal number in units of the currency, such as 12.50; a cost_micros is a whole number of millionths. Both are passed on as
// text, digit by digit: no amount ever becomes a binary fraction. What is wrong with a line travels with it and is told by the server among
// its findings.
package usagefile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/reconcile/command/csvfile"
)

// Options tell how a file is written where it does not tell by itself.
type Options struct {
	Delimiter    byte // 0: found out by the header
	DecimalComma bool // costs are written 12,50
}

// The columns that are taken.
const (
	requestKey = "request_key"
	taskID     = "provider_task_id"
	cost       = "cost"
	costMicros = "cost_micros"
	currency   = "currency"
)

// Reader reads the lines of an export.
type Reader struct {
	file    *csvfile.Reader
	options Options
	width   int
	columns map[string]int
}

// Open reads the header of an export.
func Open(r io.Reader, o Options) (*Reader, error) {
	u := &Reader{options: o}
	delimiters := csvfile.Delimiters
	if o.Delimiter != 0 {
		delimiters = []byte{o.Delimiter}
	}
	file, err := csvfile.Open(r, delimiters, u.accept)
	u.file = file
	return u, err
}

// accept takes a header that has what is needed, and none of it twice. Names are compared without their case and the spaces around them:
// what people see in a spreadsheet counts.
func (u *Reader) accept(names []string) error {
	u.width, u.columns = len(names), map[string]int{}
	for i, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains([]string{requestKey, taskID, cost, costMicros, currency}, name) {
			continue
		}
		if _, twice := u.columns[name]; twice {
			return fmt.Errorf("the header has the column %s twice", name)
		}
		u.columns[name] = i
	}
	switch {
	case !u.has(requestKey) && !u.has(taskID):
		return fmt.Errorf("the header has no column %s or %s: %s", requestKey, taskID, shown(names))
	case u.has(cost) == u.has(costMicros):
		return fmt.Errorf("the header needs one column %s or %s: %s", cost, costMicros, shown(names))
	case !u.has(currency):
		return fmt.Errorf("the header has no column %s: %s", currency, shown(names))
	}
	return nil
}

func (u *Reader) has(column string) bool {
	_, ok := u.columns[column]
	return ok
}

// shown is a header for an error.
func shown(names []string) string {
	const most = 200
	text := strconv.Quote(strings.Join(names, ","))
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// Next returns the next line, or io.EOF after the last.
func (u *Reader) Next() (*settlementv1.StatementLine, error) {
	fields, number, err := u.file.Read()
	if wrong, malformed := errors.AsType[*csvfile.LineError](err); malformed {
		return unreadable(number, wrong.Reason), nil
	}
	if err != nil {
		return nil, err
	}
	if len(fields) != u.width {
		return unreadable(number, fmt.Sprintf("has %d fields, and the header has %d", len(fields), u.width)), nil
	}
	for column, i := range u.columns {
		switch {
		case len(fields[i]) > fieldMax:
			return unreadable(number, fmt.Sprintf("%s: is longer than %d bytes", column, fieldMax)), nil
		case !utf8.ValidString(fields[i]):
			return unreadable(number, column+": is not UTF-8"), nil
		}
	}
	line := &settlementv1.StatementLine{
		LineNumber: number, RequestKey: u.field(fields, requestKey), ProviderTaskId: u.field(fields, taskID), Currency: u.field(fields, currency),
	}
	line.Cost, line.Unreadable = u.cost(fields)
	return line, nil
}

// fieldMax is how many bytes a field may have that is passed on: far more than a server takes, far fewer than a message does.
const fieldMax = 1024

func unreadable(number int64, why string) *settlementv1.StatementLine {
	return &settlementv1.StatementLine{LineNumber: number, Unreadable: why}
}

func (u *Reader) field(fields []string, column string) string {
	if i, ok := u.columns[column]; ok {
		return fields[i]
	}
	return ""
}

// cost returns the cost as the API wants it, or tells why it cannot.
func (u *Reader) cost(fields []string) (text, why string) {
	if u.has(costMicros) {
		text = u.field(fields, costMicros)
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return text, fmt.Sprintf("%s: want a whole number of millionths, not %q", costMicros, text)
		}
		return ledger.Micros(n).Decimal(), ""
	}
	text = u.field(fields, cost)
	switch {
	case u.options.DecimalComma && strings.Contains(text, "."):
		return text, fmt.Sprintf("%s: %q has a point, and costs are to be written with a decimal comma", cost, text)
	case u.options.DecimalComma:
		return strings.Replace(text, ",", ".", 1), ""
	case strings.Contains(text, ","):
		return text, fmt.Sprintf("%s: %q has a comma; if that is its decimal point, import with --decimal-comma", cost, text)
	}
	return text, ""
}
