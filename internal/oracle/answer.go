package oracle

import (
	"slices"
	"strings"
)

// An Answer is the word that a call is answered with, and what belongs to it.
type Answer struct {
	Word    string   // APPLIED, GRANTED, REFUSED, STATUS, ...
	Reasons []string // of HELD, REFUSED and DENIED (in order)
	Permit  bool     // a Reserve that was granted one, or is again
	Code    string   // of STATUS
	Field   string   // that a STATUS names, or ""
}

// String is the answer as the page says it.
func (a Answer) String() string {
	words := slices.Concat([]string{a.Word}, a.Reasons)
	if a.Permit {
		words = append(words, "PERMIT")
	}
	if a.Code != "" {
		words = append(words, a.Code)
	}
	if a.Field != "" {
		words = append(words, a.Field)
	}
	return strings.Join(words, " ")
}

// readAnswer reads the second column of a row.
func (r *reader) readAnswer(line int, call *Call, text string) Answer {
	words := strings.Fields(text)
	if len(words) == 0 {
		r.complain(line, "no answer")
		return Answer{}
	}
	a, rest := Answer{Word: words[0]}, words[1:]
	if a.Word == "STATUS" {
		return r.readStatus(line, a, rest)
	}
	reasons, known := rpcs[call.RPC].answers[a.Word]
	if !known {
		r.complain(line, "%s does not answer %q", call.RPC, a.Word)
		return a
	}
	for _, reason := range rest {
		if !slices.Contains(reasons, reason) {
			r.complain(line, "%s has no reason %q", a.Word, reason)
		}
		if reason == "PERMIT" {
			a.Permit = true
			continue
		}
		a.Reasons = append(a.Reasons, reason)
	}
	r.checkReasons(line, a)
	return a
}

// checkReasons sees that an answer has as many reasons as it takes: one, or for a denial one at least, in the order of the words.
func (r *reader) checkReasons(line int, a Answer) {
	switch {
	case (a.Word == "HELD" || a.Word == "REFUSED") && len(a.Reasons) != 1:
		r.complain(line, "%s takes one reason", a.Word)
	case a.Word == "DENIED":
		order := rpcs["Reserve"].answers["DENIED"]
		place := func(reason string) int { return slices.Index(order, reason) }
		sorted := slices.IsSortedFunc(a.Reasons, func(x, y string) int { return place(x) - place(y) })
		if len(a.Reasons) == 0 || !sorted {
			r.complain(line, "DENIED takes its reasons, in their order")
		}
	}
}

func (r *reader) readStatus(line int, a Answer, rest []string) Answer {
	if len(rest) == 0 || len(rest) > 2 || !slices.Contains(codes, rest[0]) {
		r.complain(line, "STATUS takes a code, and a field at most")
		return a
	}
	a.Code = rest[0]
	if len(rest) == 2 {
		a.Field = rest[1]
	}
	return a
}

// exceptions are those that the answer itself keeps.
func (a Answer) exceptions(call *Call) []string {
	switch call.RPC {
	case "ReportSubmission", "Settle", "Reconcile":
	default:
		return nil
	}
	if a.Word == "SUPERSEDED" {
		return []string{"SUPERSEDED"}
	}
	if a.Word != "REFUSED" || len(a.Reasons) != 1 || a.Reasons[0] == "TOO_EARLY" || a.Reasons[0] == "NOT_A_GENERATION" {
		return nil
	}
	return slices.Clone(a.Reasons)
}
