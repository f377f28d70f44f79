package wire

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/settlementd/settlementd/internal/ledger"
)

// pageSizeDefault is the size of a page where a caller does not say.
const pageSizeDefault = 100

// ErrPageToken says that a token was made up, or belongs to another list.
var ErrPageToken error = &ledger.Error{Kind: ledger.Invalid, Field: "page_token", Message: "is not one that this list gave"}

// PageSize returns the size of the page that a caller asks for.
func PageSize(asked *int32) int {
	if asked == nil {
		return pageSizeDefault
	}
	return int(*asked)
}

// PageToken names the place of a list's last row, to the microsecond and the byte: the next page starts after it.
func PageToken(at time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at.UnixMicro(), 10) + " " + id))
}

// ParsePageToken returns the place that a token names. No token is the place before the first row.
func ParsePageToken(token string) (at time.Time, id string, err error) {
	if token == "" {
		return time.Time{}, "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	micros, id, found := strings.Cut(string(text), " ")
	n, parseErr := strconv.ParseInt(micros, 10, 64)
	if err != nil || parseErr != nil || !found || !isText(id) {
		return time.Time{}, "", ErrPageToken
	}
	return time.UnixMicro(n).UTC(), id, nil
}

// isText tells whether PostgreSQL can take it for text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
