package manifestfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/reconcile/command/csvfile"
)

// fields of a target, in the order in which what is wrong with them is told.
var fields = []string{"reservation_id", "revision", "taken_unit", "taken"}

func readCSV(text []byte, head Head) (*settlementv1.Manifest, error) {
	m, err := head.manifest()
	if err != nil {
		return nil, err
	}
	var columns map[string]int
	file, err := csvfile.Open(bytes.NewReader(text), csvfile.Delimiters, func(names []string) (err error) {
		columns, err = columnsOf(names)
		return err
	})
	if err != nil {
		return nil, &Error{Message: err.Error()}
	}
	for {
		record, line, err := file.Read()
		wrong, malformed := errors.AsType[*csvfile.LineError](err)
		switch {
		case errors.Is(err, io.EOF):
			return m, nil
		case malformed:
			return nil, &Error{Line: line, Message: wrong.Reason}
		case err != nil:
			return nil, err
		case len(record) != len(columns):
			return nil, &Error{Line: line, Message: fmt.Sprintf("has %d fields, and the header has %d", len(record), len(columns))}
		}
		t, field, err := readTarget(func(name string) string { return record[columns[name]] })
		if err != nil {
			return nil, &Error{Line: line, Field: field, Message: err.Error()}
		}
		m.Targets = append(m.Targets, t)
	}
}

// manifest is the head of one.
func (h Head) manifest() (*settlementv1.Manifest, error) {
	for _, needed := range []struct {
		name string
		said bool
	}{{"job_id", h.JobID != ""}, {"action", h.Action != ""}, {"chunk_size", h.ChunkSize != 0}} {
		if !needed.said {
			return nil, &Error{Field: needed.name, Message: "a file of targets does not say it; say it beside the file"}
		}
	}
	a, err := action(h.Action)
	if err != nil {
		return nil, &Error{Field: "action", Message: err.Error()}
	}
	return &settlementv1.Manifest{JobId: h.JobID, Action: a, ChunkSize: h.ChunkSize, AllowPartial: h.AllowPartial}, nil
}

// columnsOf takes a header that names every field once and nothing else.
func columnsOf(names []string) (map[string]int, error) {
	columns := map[string]int{}
	for i, name := range names {
		_, twice := columns[name]
		switch {
		case !slices.Contains(fields, name):
			return nil, fmt.Errorf("the header has the column %q; targets have reservation_id, revision, taken_unit and taken", name)
		case twice:
			return nil, fmt.Errorf("the header has the column %s twice", name)
		}
		columns[name] = i
	}
	for _, name := range fields {
		if _, ok := columns[name]; !ok {
			return nil, fmt.Errorf("the header has no column %s", name)
		}
	}
	return columns, nil
}

// readTarget reads the target of a record, or names the field to blame.
func readTarget(value func(field string) string) (t *settlementv1.Target, field string, err error) {
	t = &settlementv1.Target{ReservationId: value("reservation_id")}
	revision, err := wholeNumber(value("revision"), 32)
	if err != nil {
		return nil, "revision", err
	}
	if t.TakenUnit, err = unit(value("taken_unit")); err != nil {
		return nil, "taken_unit", err
	}
	taken, err := wholeNumber(value("taken"), 64)
	if err != nil {
		return nil, "taken", err
	}
	t.Revision, t.Taken = new(int32(revision)), &taken
	return t, "", nil
}
