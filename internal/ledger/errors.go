package ledger

import "fmt"

// ErrorKind tells whose mistake an Error is.
type ErrorKind int

// The kinds of errors. None of them leaves anything behind in the book.
const (
	NotFound      ErrorKind = iota + 1 // a row that the call names does not exist
	AlreadyExists                      // the same id stands with other content
	Precondition                       // something that never changes would change
	Invalid                            // the call contradicts itself or a bound
	Broken                             // the rows contradict each other: ours
)

// Error is a call that gets no answer from the rules.
type Error struct {
	Kind    ErrorKind
	Field   string // of the request, where one is to blame
	Message string
}

// Error returns the message with its field.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

func notFound(field, format string, args ...any) error {
	return &Error{NotFound, field, fmt.Sprintf(format, args...) + " does not exist"}
}

func exists(field, format string, args ...any) error {
	return &Error{AlreadyExists, field, fmt.Sprintf(format, args...)}
}

func precondition(field, format string, args ...any) error {
	return &Error{Precondition, field, fmt.Sprintf(format, args...)}
}

func invalid(field, format string, args ...any) error {
	return &Error{Invalid, field, fmt.Sprintf(format, args...)}
}

func broken(format string, args ...any) error {
	return &Error{Broken, "", fmt.Sprintf(format, args...)}
}
