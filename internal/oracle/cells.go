package oracle

import (
	"maps"
	"slices"
	"strings"
)

func (r *reader) readChapters() {
	for _, w := range r.rows("Chapters", "chapter", "situations") {
		r.table.Chapters = append(r.table.Chapters, Chapter{Name: w.cells[0], Situations: r.expand(w.line, w.cells[1])})
	}
}

// cellHead is the head of every table of cells.
var cellHead = []string{"situations", "answer", "what moves"}

// everyCall is the title of the section whose rows hold for each call of a chapter that does not say otherwise.
const everyCall = "every call"

// readCells reads the sections of every chapter, fills in what holds for every call, and then looks for what is missing.
func (r *reader) readCells() {
	seen := map[string]int{}
	inside := map[string]bool{}
	shared := map[string][]row{}
	var chapter *Chapter
	for _, s := range r.page {
		if s.level <= 2 {
			chapter = r.chapterNamed(s, inside)
			continue
		}
		switch {
		case s.level != 4 || chapter == nil:
		case s.title == everyCall:
			shared[chapter.Name] = r.rowsOf(s, cellHead...)
		default:
			r.readSection(s, chapter, seen)
		}
	}
	for i := range r.table.Chapters {
		r.share(&r.table.Chapters[i], shared[r.table.Chapters[i].Name], seen)
	}
	r.findMissing(inside, seen)
}

// share gives the rows that hold for every call to those calls that have none of their own.
func (r *reader) share(chapter *Chapter, rows []row, seen map[string]int) {
	for _, w := range rows {
		for _, situation := range r.expand(w.line, w.cells[0]) {
			for _, call := range chapter.Calls {
				if seen[call.Name+"/"+situation.Name] == 0 {
					r.readCell(chapter, call, situation, w, seen)
				}
			}
		}
	}
}

// findMissing complains of chapters that are not there, calls without a section, and calls without a cell.
func (r *reader) findMissing(inside map[string]bool, seen map[string]int) {
	used := map[*Call]bool{}
	for _, c := range r.table.Chapters {
		if !inside[c.Name] {
			r.complain(0, "the chapter %q is missing", c.Name)
		}
		for _, call := range c.Calls {
			used[call] = true
			for _, s := range c.Situations {
				if seen[call.Name+"/"+s.Name] == 0 {
					r.complain(call.line, "the cell %s/%s is missing", call.Name, s.Name)
				}
			}
		}
	}
	for _, call := range r.table.Calls {
		if !used[call] {
			r.complain(call.line, "the call %q has no section", call.Name)
		}
	}
}

// chapterNamed is the chapter that a heading begins, or nil when it begins something else.
func (r *reader) chapterNamed(s section, inside map[string]bool) *Chapter {
	name, found := strings.CutPrefix(s.title, "Chapter: ")
	if !found {
		return nil
	}
	for i := range r.table.Chapters {
		if r.table.Chapters[i].Name == name {
			inside[name] = true
			return &r.table.Chapters[i]
		}
	}
	r.complain(s.line, "the chapter %q has no situations", name)
	return nil
}

// readSection reads the table of the calls that a heading names.
func (r *reader) readSection(s section, chapter *Chapter, seen map[string]int) {
	var calls []*Call
	for name := range strings.SplitSeq(s.title, ",") {
		call, known := r.table.CallNamed(strings.TrimSpace(name))
		if !known {
			r.complain(s.line, "no such call: %q", strings.TrimSpace(name))
			continue
		}
		calls = append(calls, call)
		chapter.Calls = append(chapter.Calls, call)
	}
	for _, w := range r.rowsOf(s, cellHead...) {
		for _, situation := range r.expand(w.line, w.cells[0]) {
			if !slices.Contains(chapter.Situations, situation) {
				r.complain(w.line, "%q is not a situation of this chapter", situation.Name)
			}
			for _, call := range calls {
				r.readCell(chapter, call, situation, w, seen)
			}
		}
	}
}

func (r *reader) readCell(chapter *Chapter, call *Call, situation *Situation, w row, seen map[string]int) {
	cell := Cell{Chapter: chapter.Name, Call: call, Situation: situation, Line: w.line}
	if first := seen[cell.Name()]; first > 0 {
		r.complain(w.line, "the cell %s stands in line %d already", cell.Name(), first)
		return
	}
	seen[cell.Name()] = w.line
	if w.cells[1] == "as swept" {
		if situation.Swept == "" || w.cells[2] != "" {
			r.complain(w.line, "%s: no sweep has left %q, or something is said beside it", cell.Name(), situation.Name)
			return
		}
		r.swept = append(r.swept, len(r.table.Cells))
	} else {
		cell.Answer = r.readAnswer(w.line, call, w.cells[1])
		cell.Moves.Changes, cell.Moves.Events, cell.Moves.Exceptions = r.readMoves(w.line, w.cells[2])
		cell.Moves.Exceptions = slices.Concat(cell.Answer.exceptions(call), cell.Moves.Exceptions)
	}
	r.table.Cells = append(r.table.Cells, cell)
}

// readMoves reads the third column of a row.
func (r *reader) readMoves(line int, text string) (changes View, did, kept []string) {
	changes = View{}
	for _, p := range r.pairs(line, strings.Fields(text)) {
		v := r.value(line, p.name, p.value)
		switch p.name {
		case "event":
			did = append(did, v.word(events...))
			continue
		case "exception":
			kept = append(kept, v.word(exceptions...))
			continue
		}
		if _, twice := changes[p.name]; twice {
			r.complain(line, "%s is said twice", p.name)
		}
		changes[p.name] = r.readMove(line, p.name, v)
	}
	return changes, did, kept
}

func (r *reader) readMove(line int, name string, v value) string {
	words, known := moveWords[name]
	if !known {
		part, rest := name, ""
		if dot := strings.IndexByte(name, '.'); dot >= 0 {
			part, rest = name[:dot], name[dot:]
		}
		if words, known = lineWords[rest]; !known || !slices.Contains(Parts, Part(part)) {
			r.complain(line, "nothing is called %q", name)
			return v.text
		}
	}
	if len(words) == 0 {
		v.number()
		return v.text
	}
	return v.word(words...)
}

// expandSwept fills in the cells that come after an expiry.
func (r *reader) expandSwept() {
	byName := map[string]Cell{}
	for _, c := range r.table.Cells {
		byName[c.Name()] = c
	}
	for _, i := range r.swept {
		cell := &r.table.Cells[i]
		swept, found := r.table.SituationNamed(cell.Situation.Swept)
		first, foundFirst := byName["sweep/"+cell.Situation.Name]
		second, foundSecond := byName[cell.Call.Name+"/"+cell.Situation.Swept]
		if !found || !foundFirst || !foundSecond || second.Answer.Word == "" {
			r.complain(cell.Line, "%s: nothing is said of the sweep, or of %s/%s", cell.Name(), cell.Call.Name, cell.Situation.Swept)
			continue
		}
		if after := first.Moves.After(cell.Situation.Stands, 0); !maps.Equal(after, swept.Stands) {
			r.complain(cell.Line, "%s: a sweep makes %v of it, and %q is %v", cell.Name(), after, swept.Name, swept.Stands)
		}
		cell.Answer = second.Answer
		cell.Moves = first.Moves.then(cell.Situation.Stands, second.Moves)
	}
}
