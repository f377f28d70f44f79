package csvfile_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/settlementd/settlementd/internal/reconcile/command/csvfile"
)

// read returns every record of a file whose header is whatever has as many columns as it says, each with its line: "2: a|b", and what is
// wrong with a record in its place.
func read(t testing.TB, r io.Reader, columns int) []string {
	t.Helper()
	c, err := csvfile.Open(r, csvfile.Delimiters, func(found []string) error {
		if len(found) != columns {
			return fmt.Errorf("%d columns", len(found))
		}
		return nil
	})
	if err != nil {
		return []string{err.Error()}
	}
	var got []string
	for {
		fields, line, err := c.Read()
		wrong, malformed := errors.AsType[*csvfile.LineError](err)
		switch {
		case errors.Is(err, io.EOF):
			return got
		case malformed && wrong.Line != line:
			t.Errorf("line %d, and the error says %d", line, wrong.Line)
		case malformed:
			got = append(got, wrong.Error())
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, fmt.Sprintf("%d: %s", line, strings.Join(fields, "|")))
		}
	}
}

func TestDialects(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70_000)
	for name, of := range map[string]struct {
		text string
		want []string
	}{
		"comma":                        {"a,b\n1,2\n3,4\n", []string{"2: 1|2", "3: 3|4"}},
		"semicolon":                    {"a;b\n1,5;2\n", []string{"2: 1,5|2"}},
		"tab":                          {"a\tb\n1;2\t3,4\n", []string{"2: 1;2|3,4"}},
		"quoted header":                {"\"a\";\"b\"\n\"1\";\"2\"\n", []string{"2: 1|2"}},
		"header with the others in it": {"\"a,b;c\"\td\n1\t2\n", []string{"2: 1|2"}},
		"CRLF":                         {"a,b\r\n1,2\r\n\"3\",\"4\"\r\n", []string{"2: 1|2", "3: 3|4"}},
		"CRLF, no last one":            {"a,b\r\n1,2", []string{"2: 1|2"}},
		"last line ends in CR":         {"a,b\r\n1,\"2\"\r", []string{"2: 1|2"}},
		"mark":                         {"\ufeffa,b\n1,2\n", []string{"2: 1|2"}},
		"mark and quote":               {"\ufeff\"a\",b\r\n1,2\r\n", []string{"2: 1|2"}},
		"no last line break":           {"a,b\n1,2", []string{"2: 1|2"}},
		"nothing but a header":         {"a,b\n", nil},
		"header alone":                 {"a,b", nil},
		"empty lines":                  {"\n\r\na,b\n\n1,2\n\r\n\n3,4\n\n", []string{"5: 1|2", "8: 3|4"}},
		"doubled quotes":               {"a,b\n\"say \"\"hi\"\"\",\"\"\"\"\n", []string{"2: say \"hi\"|\""}},
		"line breaks inside":           {"a,b\n\"1\n2\r\n3\",4\n5,6\n", []string{"2: 1\n2\r\n3|4", "5: 5|6"}},
		"delimiters inside":            {"a,b\n\"1,2;3\t4\",5\n", []string{"2: 1,2;3\t4|5"}},
		"quotes in the middle":         {"a,b\n5\" screen,x \"y\" z\n", []string{"2: 5\" screen|x \"y\" z"}},
		"empty fields":                 {"a,b\n,\n\"\",\n", []string{"2: |", "3: |"}},
		"too few, too many":            {"a,b\n1\n1,2,3\n", []string{"2: 1", "3: 1|2|3"}},
		"text behind a quote":          {"a,b\n\"1\"x,2\n3,4\n", []string{"line 2: there is text behind a closing quote", "3: 3|4"}},
		"a quote that is not closed":   {"a,b\n\"1,2\n3,4\n5,6\n", []string{"line 2: a quote is not closed", "3: 3|4", "4: 5|6"}},
		"one that swallows the next":   {"a,b\n\"1,2\n3,\"4\"\n5,6\n", []string{"line 2: there is text behind a closing quote", "3: 3|4", "4: 5|6"}},
		"not closed in the last line":  {"a,b\n1,2\n3,\"4", []string{"2: 1|2", "line 3: a quote is not closed"}},
		"not closed for long":          {"a,b\n\"1,2\n" + strings.Repeat("3,4\n", 30_000), append([]string{"line 2: a quote is not closed"}, numbered(3, 30_000)...)},
		"a line that is too long":      {"a,b\n1," + long + long + "\n3,4\n", []string{"line 2: the line is longer than 65536 bytes", "3: 3|4"}},
		"a long last line":             {"a,b\n1," + long, []string{"line 2: the line is longer than 65536 bytes"}},
		"a field of 60,000 bytes":      {"a,b\n1," + long[:60_000] + "\n3,4\n", []string{"2: 1|" + long[:60_000], "3: 3|4"}},
		"nothing":                      {"", []string{"the file has no header"}},
		"only a mark":                  {"\ufeff", []string{"the file has no header"}},
		"UTF-16":                       {"\xff\xfea\x00,\x00", []string{"the file is UTF-16: save it as UTF-8"}},
		"no such header":               {"a,b,c\n", []string{"3 columns"}},
		"header that is not closed":    {"\"a,b\n1,2\n", []string{"line 1: a quote is not closed"}},
	} {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(of.text), "by bytes": iotest.OneByteReader(strings.NewReader(of.text))} {
			if diff := cmp.Diff(of.want, read(t, r, 2)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%.2000s", name, how, diff)
			}
		}
	}
}

func numbered(from, n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("%d: 3|4", from+i))
	}
	return lines
}

// What the standard library writes is read back, whatever the fields.
func TestFilesReadBackAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	field := rapid.StringOf(rapid.SampledFrom([]rune("ab\"\n ,;\tü")))
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.SliceOfN(field, 3, 3), 0, 20).Draw(t, "records")
		var b strings.Builder
		w := csv.NewWriter(&b)
		w.Comma = rune(rapid.SampledFrom(csvfile.Delimiters).Draw(t, "delimiter"))
		w.UseCRLF = rapid.Bool().Draw(t, "CRLF")
		if err := w.WriteAll(append([][]string{{"a", "b", "c"}}, want...)); err != nil {
			t.Fatal(err)
		}
		c, err := csvfile.Open(strings.NewReader(b.String()), csvfile.Delimiters, func(columns []string) error {
			if !slices.Equal(columns, []string{"a", "b", "c"}) {
				return errors.New("other columns")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range want {
			fields, _, err := c.Read()
			for i := range fields { // the writer makes line breaks of its own inside of quotes
				fields[i] = strings.ReplaceAll(fields[i], "\r\n", "\n")
			}
			if err != nil || !slices.Equal(fields, record) {
				t.Fatalf("%q is read as %q, %v", record, fields, err)
			}
		}
		if _, _, err := c.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("and then %v", err)
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add("a,b\n\"1\n2\",3\r\n\"x\"y,\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := csvfile.Open(strings.NewReader(text), csvfile.Delimiters, func([]string) error { return nil })
		if err != nil {
			return
		}
		last := int64(0)
		for {
			_, line, err := c.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if _, malformed := errors.AsType[*csvfile.LineError](err); err != nil && !malformed {
				t.Fatal(err)
			}
			if line <= last {
				t.Fatalf("line %d comes after %d", line, last)
			}
			last = line
		}
	})
}
