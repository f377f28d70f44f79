package jobs

import (
	"cmp"
	"fmt"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/rpc/wire"
)

func parseManifest(m *settlementv1.Manifest) ledger.Manifest {
	parsed := ledger.Manifest{
		Job: ledger.JobID(m.GetJobId()), Action: wire.JobActions.Word(m.GetAction()), ChunkSize: int(m.GetChunkSize()),
		Targets: make([]ledger.Target, 0, len(m.GetTargets())),
	}
	for _, t := range m.GetTargets() {
		parsed.Targets = append(parsed.Targets, ledger.Target{
			Reservation: ledger.ReservationID(t.GetReservationId()), Revision: t.GetRevision(),
			Taken: ledger.Taken{Unit: wire.Units.Word(t.GetTakenUnit()), Amount: ledger.Amount(t.GetTaken())},
		})
	}
	return parsed
}

// parseSearch returns the manifest that a search is to fill, and with how many targets at most.
func (s *Server) parseSearch(req *settlementv1.JobSearch) (m ledger.Manifest, targetsMax int, err error) {
	chunk, err := atMost("search.chunk_size", req.ChunkSize, s.config.Limits.Chunk)
	if err != nil {
		return m, 0, err
	}
	targetsMax, err = atMost("search.targets_max", req.TargetsMax, s.config.Limits.Targets)
	if err != nil {
		return m, 0, err
	}
	return ledger.Manifest{Job: ledger.JobID(req.GetJobId()), Action: wire.JobActions.Word(req.GetAction()), ChunkSize: chunk}, targetsMax, nil
}

// atMost returns what was asked, or the limit where nothing was.
func atMost(field string, asked *int32, limit int) (int, error) {
	switch {
	case asked == nil:
		return limit, nil
	case int(*asked) > limit:
		return 0, &ledger.Error{Kind: ledger.Invalid, Field: field, Message: fmt.Sprintf("must be at most %d", limit)}
	default:
		return int(*asked), nil
	}
}

// parseFilter finds what the action might fit; whether it does is the narrow rule's to say.
func parseFilter(req *settlementv1.JobSearch) ledgerdb.ReservationFilter {
	f := ledgerdb.ReservationFilter{
		Account: ledger.AccountID(req.GetAccountId()), Provider: ledger.ProviderID(req.GetProviderId()),
		OlderThan: time.Duration(req.GetOlderThanSeconds()) * time.Second, States: []ledger.State{ledger.Pending},
	}
	if wire.JobActions.Word(req.GetAction()) == ledger.ReleaseCustomer {
		f.States, f.UnansweredCheck = []ledger.State{ledger.Pending, ledger.Processing, ledger.Uncertain}, true
	}
	return f
}

func compareIDs(a, b ledger.ReservationID) int { return cmp.Compare(a, b) }
