// Package manifestfile reads and writes the manifests of reconciliation jobs as files. A manifest is what somebody approves, so nothing in it
// is guessed: unknown or missing keys, a key that stands twice, 1.0, "1" or true in place of a whole number are refused with their line and
// field.
//
// As JSON a manifest is complete:
//
//	{
//	  "job_id": "release-1", "action": "RELEASE_CUSTOMER", "chunk_size": 10, "allow_partial": true,
//	  "targets": [
//	    {"reservation_id": "job-1", "revision": 3, "taken_unit": "CREDITS", "taken": 10}
//	  ]
//	}
//
// As delimiter-separated text it is the targets, one a line, under a header that names the same four fields in any order; the rest is told
// beside it.
package manifestfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

// Error tells what is wrong with a file, and where.
type Error struct {
	Line    int64  // 0: no line is to blame
	Field   string // empty: no field is
	Message string
}

// Error names line and field.
func (e *Error) Error() string {
	text := e.Message
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	if e.Line > 0 {
		text = fmt.Sprintf("line %d: %s", e.Line, text)
	}
	return text
}

// Head is what delimiter-separated text leaves out. The zero head says nothing.
type Head struct {
	JobID        string
	Action       string
	ChunkSize    int32
	AllowPartial bool
}

// sizeMax is how large a file may be: ten thousand targets with the longest ids fit in several times.
const sizeMax = 16 << 20

// Read reads a manifest. What it says is for the server to judge; that it says it, and nothing else, is made sure here.
func Read(r io.Reader, head Head) (*settlementv1.Manifest, error) {
	text, err := io.ReadAll(io.LimitReader(r, sizeMax+1))
	if err != nil {
		return nil, err
	}
	if len(text) > sizeMax {
		return nil, &Error{Message: fmt.Sprintf("is larger than %d bytes", sizeMax)}
	}
	if begin := bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r\n"); len(begin) > 0 && (begin[0] == '{' || begin[0] == '[') {
		if head != (Head{}) {
			return nil, &Error{Message: "a manifest in JSON says job_id, action, chunk_size and allow_partial itself; do not say them beside it"}
		}
		return readJSON(text)
	}
	return readCSV(text, head)
}

// Write writes a manifest as JSON, a target a line, as Read reads it.
func Write(w io.Writer, m *settlementv1.Manifest) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"job_id\": %s,\n  \"action\": %s,\n  \"chunk_size\": %d,\n  \"allow_partial\": %t,\n  \"targets\": [",
		quoted(m.GetJobId()), quoted(string(wire.JobActions.Word(m.GetAction()))), m.GetChunkSize(), m.GetAllowPartial())
	for i, t := range m.GetTargets() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n    {\"reservation_id\": %s, \"revision\": %d, \"taken_unit\": %s, \"taken\": %d}",
			quoted(t.GetReservationId()), t.GetRevision(), quoted(string(wire.Units.Word(t.GetTakenUnit()))), t.GetTaken())
	}
	b.WriteString("\n  ]\n}\n")
	_, err := b.WriteTo(w)
	return err
}

func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text is always written
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

// wholeNumber reads a number that is written as the whole numbers of JSON are, and in no other way.
func wholeNumber(text string, bits int) (int64, error) {
	n, err := strconv.ParseInt(text, 10, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errors.New("is out of range")
	case err != nil || strconv.FormatInt(n, 10) != text:
		return 0, fmt.Errorf("want a whole number, not %s", text)
	}
	return n, nil
}

func action(word string) (settlementv1.JobAction, error) {
	a := wire.JobActions.Enum(ledger.JobAction(word))
	if a == settlementv1.JobAction_JOB_ACTION_UNSPECIFIED {
		return a, fmt.Errorf("want CANCEL or RELEASE_CUSTOMER, not %q", word)
	}
	return a, nil
}

func unit(word string) (settlementv1.Unit, error) {
	u := wire.Units.Enum(ledger.Unit(word))
	if u == settlementv1.Unit_UNIT_UNSPECIFIED {
		return u, fmt.Errorf("want CREDITS or FREE_ATTEMPTS, not %q", word)
	}
	return u, nil
}
