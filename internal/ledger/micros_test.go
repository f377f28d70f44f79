package ledger_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settlementd/settlementd/internal/ledger"
)

func TestAmountsAreReadExactly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ledger.Micros{
		"0": 0, "0.0": 0, "12": 12_000_000, "12.5": 12_500_000, "12.50": 12_500_000, "0.000001": 1, "007.25": 7_250_000,
		"0.1": 100_000, "0.29": 290_000, "1.005": 1_005_000, "1000000000": ledger.AmountMax, "1000000000.000000": ledger.AmountMax,
	} {
		if got, err := ledger.ParseMicros(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestWhatIsNoAmountIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "want a decimal number", ".5": "want", "5.": "want", ".": "want", "-1": "want", "+1": "want", "1e3": "want", "1,5": "want",
		"1 000": "want", " 1": "want", "1.5.2": "want", "0x1": "want", "NaN": "want", "٣": "want", "$1": "want", "1.": "want",
		"0.0000001": "more than 6 digits", "1000000000.000001": "is more than 1000000000.00", "1000000001": "is more than",
		strings.Repeat("9", 100): "is more than", strings.Repeat("0", 100) + "." + "1234567": "more than 6",
	} {
		if got, err := ledger.ParseMicros(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %d, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestAmountsReadBackAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := ledger.Micros(rapid.Int64Range(0, ledger.AmountMax).Draw(t, "micros"))
		if got, err := ledger.ParseMicros(m.Decimal()); err != nil || got != m {
			t.Errorf("%d is written %s and read back as %d, %v", m, m.Decimal(), got, err)
		}
	})
	if got := ledger.Micros(-1_500_000).Decimal(); got != "-1.50" {
		t.Errorf("got %s", got)
	}
}
