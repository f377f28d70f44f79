// Package csvfile reads delimiter-separated text as real programs export it: comma, semicolon or tab, found out by the header; quotes, line
// breaks inside of them, CRLF, a byte-order mark. A record that is malformed is told with its line, and reading goes on behind it, so that
// one lost quote does not swallow a file. It never holds more than one record.
package csvfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// recordMax is how many bytes a record may have. A quote that is not closed within them is taken for a mistake of its line.
const recordMax = 64 << 10

// Reader reads records.
type Reader struct {
	in        *bufio.Reader
	delimiter byte
	line      int64 // that the next record begins on
}

// LineError tells what is wrong with one record. The next Read returns the one behind its first line.
type LineError struct {
	Line   int64
	Reason string
}

// Error names the line.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Delimiters are those that files are tried with.
var Delimiters = []byte{',', ';', '\t'}

// Open reads the header of a file. Of the delimiters it takes the first that makes columns which accept accepts; where none does, it returns
// what accept says of those that look most like a table.
func Open(r io.Reader, delimiters []byte, accept func(columns []string) error) (*Reader, error) {
	in := bufio.NewReaderSize(r, 2*recordMax)
	if err := skipMark(in); err != nil {
		return nil, err
	}
	var best error
	most := 0
	for _, d := range delimiters {
		c := &Reader{in: in, delimiter: d, line: 1}
		columns, length, lines, err := c.header()
		_, malformed := errors.AsType[*LineError](err)
		switch {
		case malformed: // by this delimiter: quotes that end before another one do
		case err != nil:
			return nil, err
		default:
			if err = accept(columns); err == nil {
				c.line += lines
				_, err = in.Discard(length)
				return c, err
			}
		}
		if best == nil || len(columns) > most {
			best, most = err, len(columns)
		}
	}
	return nil, best
}

// skipMark leaves out the mark that some programs begin a file of UTF-8 with.
func skipMark(in *bufio.Reader) error {
	mark, err := in.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.Equal(mark, []byte("\xef\xbb\xbf")):
		_, err = in.Discard(len(mark))
		return err
	case bytes.HasPrefix(mark, []byte("\xff\xfe")) || bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return errors.New("the file is UTF-16: save it as UTF-8")
	}
	return nil
}

// header looks at the first record that is not empty, and tells how long it is with what is before it.
func (r *Reader) header() (columns []string, length int, lines int64, err error) {
	for {
		rec, err := r.peek(length)
		switch {
		case errors.Is(err, io.EOF):
			return nil, 0, 0, errors.New("the file has no header")
		case err != nil:
			return nil, 0, 0, err
		case rec.fault != "":
			return nil, 0, 0, &LineError{r.line + lines, rec.fault}
		}
		length, lines = length+rec.length, lines+rec.lines
		if !rec.empty() {
			return rec.fields, length, lines, nil
		}
	}
}

// Read returns the next record that is not empty and the number of the line that it begins on. It ends with io.EOF; an error that is a
// *LineError is about this record only.
func (r *Reader) Read() (fields []string, line int64, err error) {
	for {
		rec, err := r.peek(0)
		if err != nil {
			return nil, r.line, err
		}
		line = r.line
		if _, err := r.in.Discard(rec.length); err != nil {
			return nil, line, err
		}
		r.line += rec.lines
		if rec.open {
			if err := r.skipLine(); err != nil {
				return nil, line, err
			}
		}
		switch {
		case rec.fault != "":
			return nil, line, &LineError{line, rec.fault}
		case !rec.empty():
			return rec.fields, line, nil
		}
	}
}

// peek splits off the record behind some bytes, and looks at no more of the file than it needs.
func (r *Reader) peek(behind int) (record, error) {
	for n := max(r.in.Buffered(), behind+1); ; n = min(2*n, behind+recordMax) {
		text, err := r.in.Peek(n)
		if err != nil && !errors.Is(err, io.EOF) {
			return record{}, err
		}
		if text = text[min(behind, len(text)):]; len(text) == 0 {
			return record{}, io.EOF
		}
		rec := split(text, r.delimiter, err != nil)
		if rec.length > 0 {
			return rec, nil
		}
		if n >= behind+recordMax {
			return longest(text), nil
		}
	}
}

// longest is the record that begins text and does not end in it.
func longest(text []byte) record {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		return record{length: end + 1, lines: 1, fault: notClosed}
	}
	return record{length: len(text), open: true, fault: fmt.Sprintf("the line is longer than %d bytes", recordMax)}
}

// skipLine leaves out the rest of a line that is too long to be held.
func (r *Reader) skipLine() error {
	for {
		_, err := r.in.ReadSlice('\n')
		switch {
		case err == nil:
			r.line++
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
