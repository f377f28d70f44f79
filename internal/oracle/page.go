package oracle

import (
	"strings"
)

// A page is the headings of a Markdown text, each with the rows of the tables under it.
type page []section

type section struct {
	level int
	title string
	line  int
	head  []string // of its last table
	rows  []row
}

type row struct {
	cells []string
	line  int
}

// readPage splits a Markdown text at its headings. Fenced blocks and prose are passed over.
func readPage(text string) page {
	var p page
	inTable, fenced := false, false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		level := headingLevel(line)
		switch {
		case fenced:
			inTable = false
		case level > 0:
			p = append(p, section{level: level, title: strings.TrimSpace(line[level:]), line: i + 1})
			inTable = false
		case !strings.HasPrefix(line, "|") || len(p) == 0:
			inTable = false
		default:
			p[len(p)-1].add(row{cells: splitRow(line), line: i + 1}, inTable)
			inTable = true
		}
	}
	return p
}

// add takes the first row of a table as its head, and leaves out the rule below it.
func (s *section) add(r row, inTable bool) {
	switch {
	case !inTable:
		s.head = r.cells
	case strings.Trim(strings.Join(r.cells, ""), "-: ") == "":
	default:
		s.rows = append(s.rows, r)
	}
}

// headingLevel is the number of # before a heading's title, or 0.
func headingLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || !strings.HasPrefix(line[level:], " ") {
		return 0
	}
	return level
}

func splitRow(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	cells := strings.Split(line, "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
	}
	return cells
}

// from is the part of the page after the heading of that title, or nothing.
func (p page) from(title string) page {
	for i, s := range p {
		if s.title == title {
			return p[i+1:]
		}
	}
	return nil
}

// section finds a heading by its title.
func (p page) section(title string) (section, bool) {
	for _, s := range p {
		if s.title == title {
			return s, true
		}
	}
	return section{}, false
}
