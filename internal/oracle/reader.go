package oracle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PageName is the file that holds the tables, beside go.mod.
const PageName = "ARCHITECTURE.md"

// Read reads the tables of the page that stands at the root of the module around the working directory.
func Read() (*Table, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, errors.New("no go.mod around the working directory")
		}
		dir = parent
	}
	text, err := os.ReadFile(filepath.Join(dir, PageName))
	if err != nil {
		return nil, err
	}
	return Parse(string(text))
}

// Parse reads the tables of a page and tells everything that is wrong with them: words it does not know, names that do not
// exist, situations that are not what their step makes of the one before, cells that stand twice, and cells that are missing.
func Parse(text string) (*Table, error) {
	r := &reader{
		page:   readPage(text).from("The oracle"),
		table:  &Table{Terms: map[string]Terms{}},
		groups: map[string][]*Situation{},
	}
	if r.page == nil {
		return nil, errors.New(`the page has no heading "The oracle"`)
	}
	r.readTerms()
	r.readCalls()
	r.readSituations()
	r.readGroups()
	r.readChapters()
	r.readCells()
	r.expandSwept()
	r.checkSteps()
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return r.table, nil
}

// A reader collects what the page says, and what is wrong with it.
type reader struct {
	page   page
	table  *Table
	groups map[string][]*Situation
	swept  []int // indexes of the cells that say "as swept"
	errs   []error
}

func (r *reader) complain(line int, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s", PageName, line, fmt.Sprintf(format, args...)))
}

// rows are those of the one table under a heading, if it has the head that is wanted.
func (r *reader) rows(title string, head ...string) []row {
	s, found := r.page.section(title)
	if !found {
		r.complain(0, "the heading %q is missing", title)
		return nil
	}
	return r.rowsOf(s, head...)
}

func (r *reader) rowsOf(s section, head ...string) []row {
	if !slices.Equal(s.head, head) {
		r.complain(s.line, "the table under %q has the head %q, not %q", s.title, s.head, head)
		return nil
	}
	var rows []row
	for _, w := range s.rows {
		if len(w.cells) != len(head) {
			r.complain(w.line, "%d columns instead of %d", len(w.cells), len(head))
			continue
		}
		rows = append(rows, w)
	}
	return rows
}

// A value is a word of the page that complains where it stands.
type value struct {
	text     string
	complain func(string)
}

func (r *reader) value(line int, name, text string) value {
	return value{text: text, complain: func(what string) { r.complain(line, "%s=%s: %s", name, text, what) }}
}

func (v value) word(words ...string) string {
	if !slices.Contains(words, v.text) {
		v.complain("not one of " + strings.Join(words, " "))
	}
	return v.text
}

func (v value) number() int64 {
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil || n < 0 {
		v.complain("not a number")
	}
	return n
}

// A pair is a word of the form name=value.
type pair struct{ name, value string }

// pairs reads words of the form name=value.
func (r *reader) pairs(line int, words []string) []pair {
	var out []pair
	for _, w := range words {
		name, val, found := strings.Cut(w, "=")
		if !found || name == "" || val == "" {
			r.complain(line, "%q is not of the form name=value", w)
			continue
		}
		out = append(out, pair{name, val})
	}
	return out
}

func (r *reader) readTerms() {
	var plain Terms
	for _, w := range r.rows("Terms", "terms", "stamped") {
		name, terms := w.cells[0], plain
		if _, twice := r.table.Terms[name]; twice {
			r.complain(w.line, "the terms %q stand twice", name)
		}
		for _, p := range r.pairs(w.line, strings.Fields(w.cells[1])) {
			set, known := setters[p.name]
			if !known {
				r.complain(w.line, "terms do not have %q", p.name)
				continue
			}
			set(&terms, r.value(w.line, p.name, p.value))
		}
		if len(r.table.Terms) == 0 {
			plain = terms
		}
		r.table.Terms[name] = terms
	}
}
