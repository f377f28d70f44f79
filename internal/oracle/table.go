package oracle

// A Table is all that the page says.
type Table struct {
	Terms      map[string]Terms
	Situations []*Situation // in the order of the page, each after the one it comes from
	Calls      []*Call
	Chapters   []Chapter
	Cells      []Cell
}

// A Chapter is a set of situations and the calls that have a section in it.
type Chapter struct {
	Name       string
	Situations []*Situation
	Calls      []*Call
}

// A Cell is one call in one situation.
type Cell struct {
	Chapter   string
	Call      *Call
	Situation *Situation
	Answer    Answer
	Moves     Moves
	Line      int // of the page, to find it again
}

// Name tells a cell from every other; a subtest can have it.
func (c Cell) Name() string { return c.Call.Name + "/" + c.Situation.Name }

// A Situation is what a call can meet, and the steps that lead there.
type Situation struct {
	Name   string
	Terms  string // the name of the terms that it is built under
	Steps  []Step // from an account and a provider without a reservation
	Stands View   // without deadline and permits, which are times
	Swept  string // the situation that a sweep would make of it, if there is one

	from *Situation
	line int
}

// A Step is a call, or a wait when Call is nil.
type Step struct {
	Call *Call
	Wait int64 // seconds
}

// A Call is one request, said with names of parts: which line is meant, not which key it has.
type Call struct {
	Name string
	RPC  string            // Reserve, BeginSubmission, Sweep, ...
	Part Part              // the line that it names, or none
	Fact string            // the first word of what it says: accepted, completed, not_received, ...
	Args map[string]string // the rest: cost, charge, stage, token, ...
	Wait int64             // seconds that pass before it is made

	line int
}

// SituationNamed finds a situation.
func (t *Table) SituationNamed(name string) (*Situation, bool) {
	for _, s := range t.Situations {
		if s.Name == name {
			return s, true
		}
	}
	return nil, false
}

// CallNamed finds a call.
func (t *Table) CallNamed(name string) (*Call, bool) {
	for _, c := range t.Calls {
		if c.Name == name {
			return c, true
		}
	}
	return nil, false
}

// Cell finds the cell of a call in a situation.
func (t *Table) Cell(call, situation string) (Cell, bool) {
	for _, c := range t.Cells {
		if c.Call.Name == call && c.Situation.Name == situation {
			return c, true
		}
	}
	return Cell{}, false
}
