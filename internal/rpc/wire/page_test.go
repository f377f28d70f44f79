package wire

import (
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAPageTokenNamesItsPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "at")).UTC()
		id := rapid.StringMatching(`[!-~]{1,128}`).Draw(t, "id")
		gotAt, gotID, err := ParsePageToken(PageToken(at, id))
		if err != nil || !gotAt.Equal(at) || gotID != id {
			t.Fatalf("%v %q %v", gotAt, gotID, err)
		}
	})
}

func TestAPageTokenThatWasMadeUp(t *testing.T) {
	t.Parallel()
	tokens := []string{"x", "!", "abc"}
	for _, place := range []string{"12", "1x y", "1 \x00", "1 \xff", "9223372036854775808 y"} {
		tokens = append(tokens, base64.RawURLEncoding.EncodeToString([]byte(place)))
	}
	for _, token := range tokens {
		if _, _, err := ParsePageToken(token); !errors.Is(err, ErrPageToken) {
			t.Errorf("%q: %v", token, err)
		}
	}
	if at, id, err := ParsePageToken(""); err != nil || !at.IsZero() || id != "" {
		t.Errorf("no token: %v %q %v", at, id, err)
	}
	if PageSize(nil) != 100 || PageSize(new(int32(7))) != 7 {
		t.Error("sizes")
	}
}
