package oracle

import "strconv"

// Said is a call as it is made of one reservation: the words of the page with the keys, tokens and task ids that they mean there.
type Said struct {
	*Call
	Cast       *Cast
	Terms      Terms
	CheckStage string // of the situation's check, which stage=same and stage=other are about
}

// Say gives the call the values that its words have in a situation.
func (s *Situation) Say(call *Call, cast *Cast, terms Terms) Said {
	said := Said{Call: call, Cast: cast, Terms: terms}
	for _, step := range s.Steps {
		if step.Call != nil && step.Call.Part == Check && step.Call.Args["stage"] != "" {
			said.CheckStage = step.Call.Args["stage"]
		}
	}
	return said
}

// Key is the request key of the line that the call names, or "".
func (s Said) Key() string { return s.Cast.RequestKey(s.Part) }

// Token is the permit token that the call comes with, or "".
func (s Said) Token() string {
	switch s.Args["token"] {
	case "own":
		return s.Cast.Token(s.Part)
	case "other":
		return s.Cast.OtherToken()
	}
	return ""
}

// Task is the provider's task id that the call names, or "".
func (s Said) Task() string {
	switch s.Args["task"] {
	case "own":
		return s.Cast.Task(s.Part)
	case "other":
		return s.Cast.OtherTask()
	}
	return ""
}

// NotSent is the token by which an outcome says that nothing was sent, or "".
func (s Said) NotSent() string {
	switch part := s.Args["not_sent"]; part {
	case "":
		return ""
	case "other":
		return s.Cast.OtherToken()
	default:
		return s.Cast.Token(Part(part))
	}
}

// CheckKey is the key of the check that an outcome names, or "".
func (s Said) CheckKey() string {
	if part := s.Args["check"]; part != "" {
		return s.Cast.RequestKey(Part(part))
	}
	return ""
}

// Stage is the stage of a check, or "".
func (s Said) Stage() string {
	stage := s.Args["stage"]
	switch {
	case stage == "same":
		return s.CheckStage
	case stage == "other" && s.CheckStage == "INPUT":
		return "OUTPUT"
	case stage == "other":
		return "INPUT"
	}
	return stage
}

// Observer is who saw an outcome.
func (s Said) Observer() string {
	if o := s.Args["observer"]; o != "" {
		return o
	}
	return "WORKER"
}

// Currency is that of the call's cost.
func (s Said) Currency() string {
	if c := s.Args["currency"]; c != "" {
		return c
	}
	return s.Terms.Currency
}

// Number is an amount or a time that the call names, or nil.
func (s Said) Number(name string) *int64 {
	text, said := s.Args[name]
	if !said {
		return nil
	}
	n, _ := strconv.ParseInt(text, 10, 64) // checked when the page was read
	return &n
}

// Asked is an amount that a Reserve asks for: the one it names, or that of the terms.
func (s Said) Asked(name string, of int64) int64 {
	if n := s.Number(name); n != nil {
		return *n
	}
	return of
}
