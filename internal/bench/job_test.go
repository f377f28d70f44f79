package bench

import (
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// TestAWrongAnswerIsNoticed has answers that are almost right.
func TestAWrongAnswerIsNoticed(t *testing.T) {
	t.Parallel()
	j := job{"t0", "r1", "a0", "p0"}
	granted := func(id string, replayed bool, p *settlementv1.Permit) *settlementv1.ReserveResponse {
		return &settlementv1.ReserveResponse{Result: &settlementv1.ReserveResponse_Granted{Granted: &settlementv1.Granted{
			Reservation: &settlementv1.Reservation{ReservationId: id}, Replayed: replayed, Permit: p,
		}}}
	}
	settled := func(id string, d settlementv1.Disposition) *settlementv1.SettleResponse {
		return &settlementv1.SettleResponse{Reservation: &settlementv1.Reservation{ReservationId: id}, Disposition: d}
	}
	for name, of := range map[string]struct {
		err  error
		good bool
	}{
		"granted":             {j.reserved(granted("r1", false, &settlementv1.Permit{})), true},
		"another's":           {j.reserved(granted("r2", false, &settlementv1.Permit{})), false},
		"replayed":            {j.reserved(granted("r1", true, &settlementv1.Permit{})), false},
		"without a permit":    {j.reserved(granted("r1", false, nil)), false},
		"denied":              {j.reserved(&settlementv1.ReserveResponse{Result: &settlementv1.ReserveResponse_Denied{}}), false},
		"applied":             {j.settled(settled("r1", settlementv1.Disposition_DISPOSITION_APPLIED)), true},
		"another's end":       {j.settled(settled("r2", settlementv1.Disposition_DISPOSITION_APPLIED)), false},
		"refused":             {j.settled(settled("r1", settlementv1.Disposition_DISPOSITION_REFUSED)), false},
		"an answer too few":   {all([]job{j, j}, []*settlementv1.SettleResult{answered(j)}, job.settled), false},
		"a status of an item": {all([]job{j}, []*settlementv1.SettleResult{{}}, job.settled), false},
		"a batch":             {all([]job{j}, []*settlementv1.SettleResult{answered(j)}, job.settled), true},
	} {
		if (of.err == nil) != of.good {
			t.Errorf("%s: %v", name, of.err)
		}
	}
}

func answered(j job) *settlementv1.SettleResult {
	return &settlementv1.SettleResult{Result: &settlementv1.SettleResult_Response{Response: &settlementv1.SettleResponse{
		Reservation: &settlementv1.Reservation{ReservationId: j.id}, Disposition: settlementv1.Disposition_DISPOSITION_APPLIED,
	}}}
}

// TestJobsAreSpreadAndNeverRepeat goes through the jobs of a point, alone and in batches.
func TestJobsAreSpreadAndNeverRepeat(t *testing.T) {
	t.Parallel()
	for _, random := range []bool{false, true} {
		w := &work{spec: Spec{Mode: Batch, Accounts: 40, Tenants: 4, Budgets: 5, ItemsPerRPC: 10}, ids: ids{3, random}}
		ids, accounts, providers := map[string]bool{}, map[string]int{}, map[string]int{}
		for range 40 {
			jobs := w.nextOfOneTenant(w.spec.ItemsPerRPC)
			for _, j := range jobs {
				if j.tenant != jobs[0].tenant || ids[j.id] {
					t.Errorf("%+v in a batch of %s", j, jobs[0].tenant)
				}
				ids[j.id] = true
				accounts[j.tenant+j.account]++
				providers[j.tenant+j.provider]++
			}
		}
		if len(ids) != 400 || len(accounts) != 40 || len(providers) != 20 {
			t.Errorf("%d jobs of %d accounts at %d providers", len(ids), len(accounts), len(providers))
		}
	}
}
