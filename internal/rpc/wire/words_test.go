package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/settlementd/settlementd/internal/ledger"
)

// vocabularies are the enums of each type of the core's words. A word of a type belongs to one of its enums at least.
var vocabularies = map[string][]func(word string) bool{
	"State":          {known(States)},
	"OutcomeKind":    {known(Outcomes)},
	"Output":         {known(Outputs)},
	"Stage":          {known(Stages)},
	"LineKind":       {known(Kinds)},
	"Knowledge":      {known(Knowledges)},
	"Unit":           {known(Units)},
	"HoldState":      {known(CreditStates), known(SlotStates), known(BudgetStates)},
	"Observer":       {known(Observers)},
	"Disposition":    {known(Dispositions)},
	"HeldReason":     {known(HeldReasons)},
	"Reason":         {known(RefusedReasons), known(ExceptionReasons)},
	"Resolution":     {known(Resolutions)},
	"PermitKind":     {known(PermitKinds)},
	"PermitRefusal":  {known(PermitRefusals)},
	"ExtendRefusal":  {known(ExtendRefusals)},
	"DenialReason":   {known(DenialReasons)},
	"OutputCheck":    {known(OutputChecks), known(EvidenceOutputChecks)},
	"ResolveRefusal": {known(ResolveRefusals)},
	"EventType":      {known(Events)},
	"PeriodKind":     {known(Periods)},
	"JobAction":      {known(JobActions)},
	"Mismatch":       {known(Mismatches)},
}

// known tells whether a vocabulary has a word, and gives it back unchanged.
func known[E ~int32, W ~string](w Words[E, W]) func(string) bool {
	return func(word string) bool {
		e := w.Enum(W(word))
		return e != 0 && w.Word(e) == W(word)
	}
}

func TestEveryWordOfTheCoreHasAnEnumValue(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for name, words := range wordsOfTheCore(t) {
		for _, word := range words {
			found[name]++
			ok := false
			for _, has := range vocabularies[name] {
				ok = ok || has(word)
			}
			if !ok {
				t.Errorf("%s %s is UNSPECIFIED in the API", name, word)
			}
		}
	}
	for name := range vocabularies {
		if found[name] == 0 {
			t.Errorf("the core has no words of type %s", name)
		}
	}
}

// wordsOfTheCore reads the typed string constants of the core, as far as they are words of the API.
func wordsOfTheCore(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../ledger/*.go")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string][]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				addWords(words, spec)
			}
			return true
		})
	}
	return words
}

// addWords adds the words that a declaration has. The empty one says that there is none.
func addWords(words map[string][]string, spec *ast.ValueSpec) {
	name, ok := spec.Type.(*ast.Ident)
	if !ok || vocabularies[name.Name] == nil {
		return
	}
	for _, v := range spec.Values {
		if literal, ok := v.(*ast.BasicLit); ok && literal.Kind == token.STRING && literal.Value != `""` {
			word, _ := strconv.Unquote(literal.Value)
			words[name.Name] = append(words[name.Name], word)
		}
	}
}

func TestWordsThatAreNone(t *testing.T) {
	t.Parallel()
	if Outcomes.Word(0) != "" || Outcomes.Enum("") != 0 {
		t.Error("nothing is something")
	}
	if Outcomes.Word(99) != "" || Outcomes.Enum("NO SUCH WORD") != 0 {
		t.Error("the unknown is known")
	}
	for word := range Outcomes.enums {
		if strings.Contains(string(word), "UNSPECIFIED") {
			t.Errorf("%s is a word", word)
		}
	}
}

func TestAbsentIsNotZero(t *testing.T) {
	t.Parallel()
	if Money(nil, "USD") != nil || ToMoney(nil) != nil {
		t.Error("nothing became an amount")
	}
	zero := ToMoney(Money(new(ledger.Micros), "USD"))
	if zero == nil || *zero != (ledger.Money{Currency: "USD"}) {
		t.Errorf("zero became %v", zero)
	}
}
