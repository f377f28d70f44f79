package jobs_test

import (
	"testing"

	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
	"github.com/settlementd/settlementd/internal/retention"
)

// archive moves everything that is over into the archive.
func (f *fleet) archive(t testing.TB, want int) {
	t.Helper()
	once := retention.Once{Tenant: apptest.Tenant, Chunk: 2}
	done, err := once.Run(t.Context(), ledgerdb.New(f.DB.Ledger()), func(retention.Count) {})
	if err != nil || done.Archived != want {
		t.Fatalf("%+v, %v", done, err)
	}
}

// What a job did is archived while the job goes on: its report shows it as it was, and a target that ended meanwhile is a conflict, in the
// archive or not.
func TestAJobGoesOnWhileItsReservationsAreArchived(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 6)
	f.approved(t, f.manifest(t, "j1", 2))
	f.run(t, "j1")
	f.Settle(t, f.ids[3], "", apptest.Cancelled())
	f.archive(t, 3)
	f.wantReport(t, "j1", map[string][]string{"approved": f.ids, "committed": f.ids[:2], "remaining": f.ids[2:], "matching": f.ids[:2]})
	_, err := f.Jobs.RunChunk(t.Context(), runOf("j1"))
	conflict(t, err, "j1", f.ids[3], "REVISION,STATE")
	f.wantPrefix(t, "j1", 2)
	f.Verify(t)
}
