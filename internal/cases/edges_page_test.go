package cases_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const page = "../../CASES.md"

var (
	update   = flag.Bool("update", false, "write the lists of tests in CASES.md anew")
	heading  = regexp.MustCompile(`(?m)^## (\d+)\. .+$`)
	testName = regexp.MustCompile(`^TestCase(\d\d)[A-Z]\w+$`)
)

// untested are the cases of what the service does not do yet.
var untested = []int{33, 36, 37, 38, 41}

// TestThisPageAndTheTestsAgree holds CASES.md against the tests of this package: each case has a section with its tests, or says that it has none.
func TestThisPageAndTheTestsAgree(t *testing.T) {
	t.Parallel()
	tests := caseTests(t)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		text = withTests(string(text), tests)
		if err := os.WriteFile(page, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sections := cut(string(text))
	var without []int
	for n := 1; n <= 58; n++ {
		section := sections[n]
		listed := regexp.MustCompile(`TestCase\w+`).FindAllString(section, -1)
		switch {
		case section == "":
			t.Errorf("case %d is not told", n)
		case !slices.Equal(listed, tests[n]):
			t.Errorf("case %d lists %v, and its tests are %v", n, listed, tests[n])
		case strings.Contains(section, "No test yet.") != (len(listed) == 0):
			t.Errorf("case %d must either list its tests or say that there is no test yet", n)
		}
		if len(listed) == 0 {
			without = append(without, n)
		}
		delete(tests, n)
	}
	for n, names := range tests {
		t.Errorf("there is no case %d, but there are its tests %v", n, names)
	}
	if !slices.Equal(without, untested) {
		t.Errorf("cases without a test: %v, want %v", without, untested)
	}
}

// caseTests are the names of this package's tests of cases, by number, in the order of the alphabet.
func caseTests(t *testing.T) map[int][]string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[int][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "TestCase") {
				continue
			}
			match := testName.FindStringSubmatch(f.Name.Name)
			if match == nil {
				t.Errorf("%s: %s names no case: two digits, then words", file, f.Name.Name)
				continue
			}
			n, _ := strconv.Atoi(match[1])
			tests[n] = append(tests[n], f.Name.Name)
		}
	}
	for _, names := range tests {
		slices.Sort(names)
	}
	return tests
}

// cut returns the sections of the page by number.
func cut(text string) map[int]string {
	sections := map[int]string{}
	places := heading.FindAllStringSubmatchIndex(text, -1)
	for i, place := range places {
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		n, _ := strconv.Atoi(text[place[2]:place[3]])
		sections[n] = text[place[0]:end]
	}
	return sections
}

// withTests returns the page with each case's tests listed as they are.
func withTests(text string, tests map[int][]string) []byte {
	sections := cut(text)
	for n, section := range sections {
		told := regexp.MustCompile(`(?s)\n(Tests: |No test yet\.).*$`).ReplaceAllString(strings.TrimSpace(section), "")
		last := "No test yet."
		if names := tests[n]; len(names) > 0 {
			last = fmt.Sprintf("Tests: `%s`", strings.Join(names, "`, `"))
		}
		text = strings.Replace(text, section, strings.TrimSpace(told)+"\n\n"+last+"\n\n", 1)
	}
	return []byte(strings.TrimSpace(text) + "\n")
}
