package csvfile

import (
	"bytes"
	"strings"
)

// record is a record at the beginning of a text.
type record struct {
	fields []string
	length int // in bytes, its line break included; 0: it does not end in the text
	lines  int64
	fault  string // why there are no fields; length is then that of its first line
	open   bool   // its first line goes on behind its length
}

const (
	notClosed = "a quote is not closed"
	behind    = "there is text behind a closing quote"
)

// empty tells of a line with nothing on it.
func (r *record) empty() bool { return r.fault == "" && len(r.fields) == 1 && r.fields[0] == "" }

// split splits the first record off a text, at whose end the file ends or not.
func split(text []byte, delimiter byte, ends bool) record {
	var rec record
	for at := 0; ; {
		field, next, fault := splitField(text, at, delimiter, ends)
		switch {
		case fault != "":
			return malformed(text, ends, fault)
		case next < 0:
			return record{}
		}
		rec.fields = append(rec.fields, field)
		if next < len(text) && text[next] == delimiter {
			at = next + 1
			continue
		}
		rec.length = breakAt(text, next)
		rec.lines = int64(bytes.Count(text[:rec.length], []byte{'\n'}))
		return rec
	}
}

// splitField returns a field and where it ends: at a delimiter, a line break or the end. It ends nowhere (-1) when the text has to be longer
// to tell.
func splitField(text []byte, at int, delimiter byte, ends bool) (field string, next int, fault string) {
	if at < len(text) && text[at] == '"' {
		return splitQuoted(text, at+1, delimiter, ends)
	}
	end := bytes.IndexFunc(text[at:], func(c rune) bool { return c == rune(delimiter) || c == '\n' })
	switch {
	case end >= 0:
		end += at
	case !ends:
		return "", -1, ""
	default:
		end = len(text)
	}
	if end > at && text[end-1] == '\r' && (end == len(text) || text[end] == '\n') {
		end--
	}
	return string(text[at:end]), end, ""
}

// splitQuoted returns a field whose opening quote is behind us. A quote inside of it is doubled.
func splitQuoted(text []byte, at int, delimiter byte, ends bool) (field string, next int, fault string) {
	var b strings.Builder
	for {
		quote := bytes.IndexByte(text[at:], '"')
		switch {
		case quote < 0 && ends:
			return "", 0, notClosed
		case quote < 0:
			return "", -1, ""
		}
		b.Write(text[at : at+quote])
		at += quote + 1
		switch {
		case at < len(text) && text[at] == '"':
			b.WriteByte('"')
			at++
		case at == len(text) && !ends, at+1 == len(text) && text[at] == '\r' && !ends:
			return "", -1, ""
		case at == len(text) || text[at] == delimiter || breakAt(text, at) > at:
			return b.String(), at, ""
		default:
			return "", 0, behind
		}
	}
}

// breakAt returns where the line break that begins here ends, or this place if none begins here.
func breakAt(text []byte, at int) int {
	rest := text[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("\n")):
		return at + 1
	case bytes.HasPrefix(rest, []byte("\r\n")):
		return at + 2
	case len(rest) == 1 && rest[0] == '\r':
		return at + 1
	}
	return at
}

// malformed is a record of which only the first line is taken: what comes behind it is read anew.
func malformed(text []byte, ends bool, fault string) record {
	end := bytes.IndexByte(text, '\n')
	switch {
	case end >= 0:
		return record{length: end + 1, lines: 1, fault: fault}
	case ends:
		return record{length: len(text), fault: fault}
	}
	return record{}
}
