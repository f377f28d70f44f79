package bench

import (
	"crypto/md5" //nolint:gosec // ids that are spread evenly, nothing secret
	"encoding/hex"
	"fmt"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
)

// job is a reservation and its settlement.
type job struct {
	tenant, id, account, provider string
}

// ids names reservations. No two have the same series in one database.
type ids struct {
	series int
	random bool
}

// job is that of a number, spread over what the point has of everything.
func (i ids) job(s Spec, number int64) job {
	tenants := int64(s.Tenants)
	in := number / tenants
	return job{
		tenant:   fmt.Sprintf("t%d", number%tenants),
		id:       i.name(number),
		account:  fmt.Sprintf("a%d", in%int64(s.accountsOfTenant())),
		provider: fmt.Sprintf("p%d", in%int64(s.Budgets)),
	}
}

// name ascends with the numbers, as text does, or goes anywhere.
func (i ids) name(number int64) string {
	name := fmt.Sprintf("r%04d-%010d", i.series, number)
	if i.random {
		sum := md5.Sum([]byte(name)) //nolint:gosec // see above
		return hex.EncodeToString(sum[:])
	}
	return name
}

const (
	budgetMicros = 10
	costMicros   = 7
)

func (j job) key() string { return j.id + "/1" }

func (j job) reserve() *settlementv1.ReserveRequest {
	return &settlementv1.ReserveRequest{
		TenantId: j.tenant, ReservationId: j.id, AccountId: j.account, ProviderId: j.provider,
		Funding:      &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: 1}},
		BudgetMicros: budgetMicros, Currency: "USD",
		Submission: &settlementv1.Submission{RequestKey: j.key(), PermitToken: "t-" + j.id},
	}
}

// reserved tells what is wrong with an answer.
func (j job) reserved(m *settlementv1.ReserveResponse) error {
	g := m.GetGranted()
	if g.GetReservation().GetReservationId() != j.id || g.GetReplayed() || g.GetPermit() == nil {
		return fmt.Errorf("reserve %s: answered %v", j.id, m)
	}
	return nil
}

func (j job) settle() *settlementv1.SettleRequest {
	return &settlementv1.SettleRequest{
		TenantId: j.tenant, ReservationId: j.id, RequestKey: new(j.key()), Observer: settlementv1.Observer_OBSERVER_POLL,
		Outcome: &settlementv1.SettleRequest_Completed{Completed: &settlementv1.CompletedOutcome{
			OutputCheck: settlementv1.OutputCheck_OUTPUT_CHECK_NOT_REQUIRED, Cost: &settlementv1.Money{AmountMicros: costMicros, Currency: "USD"},
		}},
	}
}

// settled tells what is wrong with an answer.
func (j job) settled(m *settlementv1.SettleResponse) error {
	if m.GetDisposition() != settlementv1.Disposition_DISPOSITION_APPLIED || m.GetReservation().GetReservationId() != j.id {
		return fmt.Errorf("settle %s: answered %v", j.id, m)
	}
	return nil
}
