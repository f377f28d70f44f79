package usagefile_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/reconcile/command/usagefile"
)

func read(t *testing.T, text string, o usagefile.Options) ([]*settlementv1.StatementLine, error) {
	t.Helper()
	u, err := usagefile.Open(strings.NewReader(text), o)
	if err != nil {
		return nil, err
	}
	var lines []*settlementv1.StatementLine
	for {
		line, err := u.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
}

type line = settlementv1.StatementLine

func TestExportsAreRead(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		text    string
		options usagefile.Options
		want    []*line
	}{
		"plain": {"request_key,cost,currency\nk,12.50,USD\n", usagefile.Options{}, []*line{{LineNumber: 2, RequestKey: "k", Cost: "12.50", Currency: "USD"}}},
		"by task, among other columns, in another order": {
			"Date;Currency;Model;Provider_Task_ID ;cost\n2026-11-01;EUR;\"big;one\";t-1;0.1\n", usagefile.Options{},
			[]*line{{LineNumber: 2, ProviderTaskId: "t-1", Cost: "0.1", Currency: "EUR"}},
		},
		"by both": {
			"\ufeffrequest_key\tprovider_task_id\tcost\tcurrency\r\nk\tt\t1\tUSD\r\n\tt2\t2\tUSD\r\n", usagefile.Options{},
			[]*line{{LineNumber: 2, RequestKey: "k", ProviderTaskId: "t", Cost: "1", Currency: "USD"}, {LineNumber: 3, ProviderTaskId: "t2", Cost: "2", Currency: "USD"}},
		},
		"micros": {
			"request_key,cost_micros,currency\na,0,USD\nb,1,USD\nc,1500000,USD\nd,1000000000000001,USD\ne,1.0,USD\nf,-1,USD\ng,,USD\n", usagefile.Options{},
			[]*line{
				{LineNumber: 2, RequestKey: "a", Cost: "0.00", Currency: "USD"}, {LineNumber: 3, RequestKey: "b", Cost: "0.000001", Currency: "USD"},
				{LineNumber: 4, RequestKey: "c", Cost: "1.50", Currency: "USD"}, {LineNumber: 5, RequestKey: "d", Cost: "1000000000.000001", Currency: "USD"},
				{LineNumber: 6, RequestKey: "e", Cost: "1.0", Currency: "USD", Unreadable: `cost_micros: want a whole number of millionths, not "1.0"`},
				{LineNumber: 7, RequestKey: "f", Cost: "-1", Currency: "USD", Unreadable: `cost_micros: want a whole number of millionths, not "-1"`},
				{LineNumber: 8, RequestKey: "g", Currency: "USD", Unreadable: `cost_micros: want a whole number of millionths, not ""`},
			},
		},
		"decimal comma": {
			"request_key;cost;currency\na;12,50;EUR\nb;7;EUR\nc;1.234,50;EUR\nd;1,2,3;EUR\n", usagefile.Options{DecimalComma: true},
			[]*line{
				{LineNumber: 2, RequestKey: "a", Cost: "12.50", Currency: "EUR"}, {LineNumber: 3, RequestKey: "b", Cost: "7", Currency: "EUR"},
				{LineNumber: 4, RequestKey: "c", Cost: "1.234,50", Currency: "EUR", Unreadable: `cost: "1.234,50" has a point, and costs are to be written with a decimal comma`},
				{LineNumber: 5, RequestKey: "d", Cost: "1.2,3", Currency: "EUR"},
			},
		},
		"comma without being told": {
			"request_key;cost;currency\na;12,50;EUR\n", usagefile.Options{},
			[]*line{{LineNumber: 2, RequestKey: "a", Cost: "12,50", Currency: "EUR", Unreadable: `cost: "12,50" has a comma; if that is its decimal point, import with --decimal-comma`}},
		},
		"bad lines": {
			"request_key,cost,currency,note\nk,1,USD,\nk,1,USD\nk,\"1,USD,x\nk,1,USD,\xff\n\xff,1,USD,\n" + strings.Repeat("k", 1025) + ",1,USD,\nk,2,USD,\n", usagefile.Options{},
			[]*line{
				{LineNumber: 2, RequestKey: "k", Cost: "1", Currency: "USD"}, {LineNumber: 3, Unreadable: "has 3 fields, and the header has 4"},
				{LineNumber: 4, Unreadable: "a quote is not closed"}, {LineNumber: 5, RequestKey: "k", Cost: "1", Currency: "USD"},
				{LineNumber: 6, Unreadable: "request_key: is not UTF-8"}, {LineNumber: 7, Unreadable: "request_key: is longer than 1024 bytes"},
				{LineNumber: 8, RequestKey: "k", Cost: "2", Currency: "USD"},
			},
		},
		"a delimiter of one's own": {"request_key|cost|currency\na|1|USD\n", usagefile.Options{Delimiter: '|'}, []*line{{LineNumber: 2, RequestKey: "a", Cost: "1", Currency: "USD"}}},
	} {
		got, err := read(t, of.text, of.options)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(of.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHeadersThatLackSomethingAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "the file has no header",
		"key,cost,currency\n":    `no column request_key or provider_task_id: "key,cost,currency"`,
		"request_key,currency\n": "needs one column cost or cost_micros",
		"request_key,cost,cost_micros,currency\n": "needs one column cost or cost_micros",
		"request_key;cost\n":                      "no column currency",
		"request_key,cost,currency,Cost\n":        "the column cost twice",
		"k-1,0.5,USD\n":                           "no column request_key",
		strings.Repeat("x,", 1000):                "…",
	} {
		if _, err := read(t, text, usagefile.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want an error with %q", text, err, want)
		}
	}
}
