package ledger

import (
	"errors"
	"fmt"
	"strings"
)

// microDigits is how many digits behind the point an amount can have.
const microDigits = 6

// microsPerUnit is how many micros a currency's unit has.
const microsPerUnit = 1_000_000

// ParseMicros reads an amount that is written in units of its currency, such as 12.50. It is exact, and reads nothing but digits and one
// point with one to six digits behind it: no sign, no exponent, no separators, no space.
func ParseMicros(text string) (Micros, error) {
	units, fraction, hasPoint := strings.Cut(text, ".")
	if !digits(units) || hasPoint && !digits(fraction) {
		return 0, errors.New("want a decimal number such as 12.50")
	}
	if len(fraction) > microDigits {
		return 0, fmt.Errorf("has more than %d digits behind the point", microDigits)
	}
	var m Micros
	for _, d := range units + fraction + strings.Repeat("0", microDigits-len(fraction)) {
		if m = m*10 + Micros(d-'0'); m > Micros(AmountMax) {
			return 0, fmt.Errorf("is more than %s", Micros(AmountMax).Decimal())
		}
	}
	return m, nil
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// Decimal writes the amount in units of its currency, with two digits behind the point or as many more as it has.
func (m Micros) Decimal() string {
	sign, rest := "", uint64(m)
	if m < 0 {
		sign, rest = "-", -rest
	}
	fraction := fmt.Sprintf("%06d", rest%microsPerUnit)
	return fmt.Sprintf("%s%d.%s", sign, rest/microsPerUnit, fraction[:2]+strings.TrimRight(fraction[2:], "0"))
}
