package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// JobID names a reconciliation job of a tenant.
type JobID string

// JobAction is what a job does with each of its reservations.
type JobAction string

// The actions of jobs.
const (
	CancelPending   JobAction = "CANCEL"           // the effect of cancelled, on PENDING reservations
	ReleaseCustomer JobAction = "RELEASE_CUSTOMER" // the effect of moderation_unavailable, on jobs stuck behind an unanswered check
)

// Target is a reservation as a manifest expects to find it.
type Target struct {
	Reservation ReservationID
	Revision    int32
	Taken       Taken
}

// Manifest is a fixed list of reservations and what is to be done with each, some at a time. What was done stays whatever becomes of the
// rest: who approves a manifest approves that.
type Manifest struct {
	Job       JobID
	Action    JobAction
	ChunkSize int
	Targets   []Target // sorted by id, none twice
}

// The hard ceilings of manifests. Stored ones are judged by these, new ones by the server's settings.
const (
	TargetsCeiling = 10_000
	ChunkCeiling   = 1_000
)

// targetRevisionMax is the last revision that a target can have: changing it takes another one.
const targetRevisionMax = RevisionMax - 1

// Limits bound a manifest that is to be stored.
type Limits struct {
	Targets int
	Chunk   int
}

// Normalise returns the manifest with its own copy of the targets, sorted by id, or says which field breaks a rule. It corrects nothing.
func (m Manifest) Normalise(l Limits) (Manifest, error) {
	switch {
	case m.Action != CancelPending && m.Action != ReleaseCustomer:
		return Manifest{}, invalid("manifest.action", "is required")
	case m.ChunkSize < 1 || m.ChunkSize > l.Chunk:
		return Manifest{}, invalid("manifest.chunk_size", "must be from 1 to %d", l.Chunk)
	case len(m.Targets) < 1 || len(m.Targets) > l.Targets:
		return Manifest{}, invalid("manifest.targets", "must be from 1 to %d", l.Targets)
	}
	var err error
	m.Targets, err = SortTargets(m.Targets)
	return m, err
}

// SortTargets returns a sorted copy of the targets, or says which of them is malformed or stands twice.
func SortTargets(targets []Target) ([]Target, error) {
	seen := make(map[ReservationID]bool, len(targets))
	for i, t := range targets {
		field := fmt.Sprintf("manifest.targets[%d].", i)
		switch {
		case t.Reservation == "":
			return nil, invalid(field+"reservation_id", "is required")
		case seen[t.Reservation]:
			return nil, invalid(field+"reservation_id", "stands twice: %s", t.Reservation)
		case t.Revision < 0 || t.Revision > targetRevisionMax:
			return nil, invalid(field+"revision", "must be from 0 to %d", targetRevisionMax)
		case t.Taken.Unit != Credits && t.Taken.Unit != FreeAttempts:
			return nil, invalid(field+"taken_unit", "is required")
		case t.Taken.Unit == FreeAttempts && t.Taken.Amount != 1:
			return nil, invalid(field+"taken", "must be 1: a reservation takes one free attempt")
		case t.Taken.Amount < 0 || t.Taken.Amount > AmountMax:
			return nil, invalid(field+"taken", "must be from 0 to %d", int64(AmountMax))
		}
		seen[t.Reservation] = true
	}
	sorted := slices.Clone(targets)
	slices.SortFunc(sorted, func(a, b Target) int { return compare(a.Reservation, b.Reservation) })
	return sorted, nil
}

// Hash is what gets approved: the SHA-256, in hex, of the normalised manifest as a text of lines that each end in a newline:
//
//	settlementd manifest 1
//	<tenant_id> <job_id> <action> <chunk_size> allow_partial
//	<reservation_id> <revision> <taken_unit> <taken>            for each target, in the order of the ids
//
// The database makes the same text of what it has stored, and compares.
func (m *Manifest) Hash(tenant TenantID) string {
	h := sha256.New()
	fmt.Fprintf(h, "settlementd manifest 1\n%s %s %s %d allow_partial\n", tenant, m.Job, m.Action, m.ChunkSize)
	for _, t := range m.Targets {
		fmt.Fprintf(h, "%s %d %s %d\n", t.Reservation, t.Revision, t.Taken.Unit, t.Taken.Amount)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Differs names the first field in which two normalised manifests differ, or none.
func (m *Manifest) Differs(o *Manifest) string {
	switch {
	case m.Action != o.Action:
		return "manifest.action"
	case m.ChunkSize != o.ChunkSize:
		return "manifest.chunk_size"
	case !slices.Equal(m.Targets, o.Targets):
		return "manifest.targets"
	}
	return ""
}
