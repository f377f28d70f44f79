package manifestfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// jsonReader reads token by token, because encoding/json by itself forgives too much: letters of another case, keys that stand twice, null.
type jsonReader struct {
	text []byte
	in   *json.Decoder
}

// member is a key that an object must have, and what reads its value.
type member struct {
	name string
	read func(field string) error
}

func readJSON(text []byte) (*settlementv1.Manifest, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	r := &jsonReader{text: text, in: json.NewDecoder(bytes.NewReader(text))}
	r.in.UseNumber()
	m := &settlementv1.Manifest{}
	err := r.object("", []member{
		{"job_id", r.string(&m.JobId)},
		{"action", read(r, "a string", func(s string) (err error) { m.Action, err = action(s); return err })},
		{"chunk_size", read(r, number, func(n json.Number) error {
			size, err := wholeNumber(n.String(), 32)
			m.ChunkSize = int32(size)
			return err
		})},
		{"allow_partial", read(r, "true or false", func(b bool) error { m.AllowPartial = b; return nil })},
		{"targets", r.targets(m)},
	})
	if err != nil {
		return nil, err
	}
	if _, err := r.in.Token(); !errors.Is(err, io.EOF) {
		return nil, r.fail("", "there is something behind the manifest")
	}
	return m, nil
}

const number = "a whole number"

func (r *jsonReader) string(to *string) func(string) error {
	return read(r, "a string", func(s string) error { *to = s; return nil })
}

func (r *jsonReader) targets(m *settlementv1.Manifest) func(string) error {
	return func(field string) error {
		if err := r.delimiter(field, '[', "a list"); err != nil {
			return err
		}
		for r.in.More() {
			t := &settlementv1.Target{}
			err := r.object(fmt.Sprintf("%s[%d]", field, len(m.GetTargets())), []member{
				{"reservation_id", r.string(&t.ReservationId)},
				{"revision", read(r, number, func(n json.Number) error {
					revision, err := wholeNumber(n.String(), 32)
					t.Revision = new(int32(revision))
					return err
				})},
				{"taken_unit", read(r, "a string", func(s string) (err error) { t.TakenUnit, err = unit(s); return err })},
				{"taken", read(r, number, func(n json.Number) error {
					taken, err := wholeNumber(n.String(), 64)
					t.Taken = &taken
					return err
				})},
			})
			if err != nil {
				return err
			}
			m.Targets = append(m.Targets, t)
		}
		return r.delimiter(field, ']', "the end of the list")
	}
}

// object reads an object that has every member once and nothing else.
func (r *jsonReader) object(field string, members []member) error {
	if err := r.delimiter(field, '{', "an object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for r.in.More() {
		token, err := r.token(field)
		if err != nil {
			return err
		}
		name, _ := token.(string) // a key always is one
		at := join(field, name)
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		switch {
		case i < 0:
			return r.fail(at, "is no field of a manifest")
		case seen[name]:
			return r.fail(at, "stands twice")
		}
		seen[name] = true
		if err := members[i].read(at); err != nil {
			return err
		}
	}
	if err := r.delimiter(field, '}', "the end of the object"); err != nil {
		return err
	}
	for _, m := range members {
		if !seen[m.name] {
			return r.fail(join(field, m.name), "is missing")
		}
	}
	return nil
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// read reads a value of one type.
func read[V any](r *jsonReader, want string, use func(V) error) func(field string) error {
	return func(field string) error {
		token, err := r.token(field)
		if err != nil {
			return err
		}
		v, ok := token.(V)
		if !ok {
			return r.fail(field, "want %s, not %s", want, shown(token))
		}
		if err := use(v); err != nil {
			return r.fail(field, "%v", err)
		}
		return nil
	}
}

func (r *jsonReader) delimiter(field string, want json.Delim, what string) error {
	token, err := r.token(field)
	if err != nil {
		return err
	}
	if token != want {
		return r.fail(field, "want %s, not %s", what, shown(token))
	}
	return nil
}

func (r *jsonReader) token(field string) (json.Token, error) {
	token, err := r.in.Token()
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.fail(field, "the file ends too early")
	case err != nil:
		return nil, r.fail(field, "no JSON: %v", err)
	}
	return token, nil
}

// shown is a token as it stands in the file.
func shown(token json.Token) string {
	switch t := token.(type) {
	case json.Delim:
		return map[json.Delim]string{'{': "an object", '[': "a list"}[t]
	case json.Number:
		return t.String()
	default:
		text, err := json.Marshal(t)
		if err != nil {
			return "something else"
		}
		return string(text)
	}
}

// fail blames the line of the token that was read last.
func (r *jsonReader) fail(field, format string, args ...any) error {
	before := r.text[:min(r.in.InputOffset(), int64(len(r.text)))]
	return &Error{Line: int64(bytes.Count(before, []byte{'\n'})) + 1, Field: field, Message: fmt.Sprintf(format, args...)}
}
