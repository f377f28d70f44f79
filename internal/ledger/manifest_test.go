package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The hash is of a text that anybody can make.
func TestTheHashIsOfAPlainText(t *testing.T) {
	m := Manifest{Job: "j1", Action: CancelPending, ChunkSize: 10, Targets: []Target{
		{"a", 0, Taken{Credits, 10}}, {"b!", 7, Taken{FreeAttempts, 1}},
	}}
	text := "settlementd manifest 1\nacme j1 CANCEL 10 allow_partial\na 0 CREDITS 10\nb! 7 FREE_ATTEMPTS 1\n"
	sum := sha256.Sum256([]byte(text))
	if got, want := m.Hash("acme"), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("the hash is %s, want %s", got, want)
	}
}

// Whatever order the targets come in, the normal form is the same, is sorted by bytes, and leaves the caller's list alone.
func TestNormaliseIsOfTheContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[!-~]{1,8}`), 1, 20, rapid.ID).Draw(t, "ids")
		m := Manifest{Job: "j", Action: CancelPending, ChunkSize: 1}
		for _, id := range ids {
			m.Targets = append(m.Targets, Target{ReservationID(id), rapid.Int32Min(0).Draw(t, "revision") % targetRevisionMax, Taken{Credits, 1}})
		}
		sent := slices.Clone(m.Targets)
		limits := Limits{Targets: 20, Chunk: 1}
		n, err := m.Normalise(limits)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(m.Targets, sent) {
			t.Fatal("the caller's list was changed")
		}
		if !slices.IsSortedFunc(n.Targets, func(a, b Target) int { return compare(a.Reservation, b.Reservation) }) {
			t.Fatal("not sorted")
		}
		m.Targets = rapid.Permutation(m.Targets).Draw(t, "another order")
		again, err := m.Normalise(limits)
		if err != nil || again.Hash("acme") != n.Hash("acme") || again.Differs(&n) != "" {
			t.Fatalf("another order is another manifest: %v", err)
		}
		twice := append(slices.Clone(m.Targets), rapid.SampledFrom(m.Targets).Draw(t, "twice"))
		m.Targets = twice
		_, err = m.Normalise(Limits{Targets: 21, Chunk: 1})
		if le, ok := errors.AsType[*Error](err); !ok || le.Kind != Invalid {
			t.Fatalf("the same id twice: %v", err)
		}
	})
}
