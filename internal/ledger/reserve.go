package ledger

import (
	"slices"
	"time"
)

// Reserve asks for a customer's credits or free attempt, a slot and a part of the provider's budget: all three or none.
type Reserve struct {
	ID            ReservationID
	Asked         Asked
	Token         Token // of the permit for Asked.SubmissionKey, where there is one
	TTLSeconds    int64 // how long the reservation lives: what was asked, or the setting
	MaxAgeSeconds int64
}

// Denial is one resource that was lacking: how much was asked, and how much was there.
type Denial struct {
	Reason    DenialReason
	Asked     int64
	Available int64
	Uncertain int64 // of a busy provider: how many of its reservations are uncertain
}

// ofProvider tells whether it is the provider that denies, or its budget.
func (d Denial) ofProvider() bool {
	return d.Reason == ProviderDisabled || d.Reason == ProviderBusy || d.Reason == BudgetExhausted
}

// ReserveAnswer is a reservation, or everything that it lacked.
type ReserveAnswer struct {
	Denied   []Denial
	View     View
	Replayed bool
	Permit   *Permit // nil where no key came along, or a replay finds that none can be given
}

// Keys names the rows that the call needs.
func (in *Reserve) Keys() Keys {
	k := Keys{
		Reservations: []ReservationID{in.ID},
		Accounts:     []AccountID{in.Asked.Account},
		Providers:    []ProviderID{in.Asked.Provider},
	}
	if in.Asked.SubmissionKey != "" {
		k.RequestKeys = []RequestKey{in.Asked.SubmissionKey}
	}
	return k
}

// Reserve takes the three holds, or tells what was lacking. The same id with the same content gets the first answer again; with other
// content it is an error that names the field.
func (b *Book) Reserve(in Reserve) (ReserveAnswer, error) {
	if r := b.reservations.get(in.ID); r != nil {
		return b.replayReserve(r, in)
	}
	c := &change{
		b: b, created: true, was: Pending,
		account:  b.accounts.draft(in.Asked.Account),
		provider: b.providers.draft(in.Asked.Provider),
	}
	switch {
	case c.account == nil:
		return ReserveAnswer{}, notFound("account_id", "account %s", in.Asked.Account)
	case c.provider == nil:
		return ReserveAnswer{}, notFound("provider_id", "provider %s", in.Asked.Provider)
	case c.provider.Currency != in.Asked.Currency:
		return ReserveAnswer{}, precondition("currency", "provider %s is paid in %s", c.provider.ID, c.provider.Currency)
	case in.TTLSeconds > in.MaxAgeSeconds:
		return ReserveAnswer{}, invalid("ttl_seconds", "must be at most %d, the maximum age of a reservation", in.MaxAgeSeconds)
	}
	c.before = *c.account
	c.budget = b.currentBudget(c.provider)
	taken, denied := c.lacking(in)
	if len(denied) > 0 {
		return ReserveAnswer{Denied: denied}, nil
	}
	// Every resource is there: from here on the call must succeed.
	permit := c.take(in, taken)
	if err := c.commit(); err != nil {
		return ReserveAnswer{}, err
	}
	return ReserveAnswer{View: c.view(), Permit: permit}, nil
}

func (b *Book) replayReserve(r *Reservation, in Reserve) (ReserveAnswer, error) {
	if field := r.Asked.difference(&in.Asked); field != "" {
		return ReserveAnswer{}, exists(field, "reservation %s stands with another value", in.ID)
	}
	c, err := b.begin(in.ID)
	if err != nil {
		return ReserveAnswer{}, err
	}
	answer := ReserveAnswer{View: c.view(), Replayed: true}
	if l := b.lines.get(in.Asked.SubmissionKey); l != nil {
		answer.Permit = c.permitAgain(l, in.Token).Permit
	}
	return answer, nil
}

// lacking chooses what the reservation is paid from, and lists every resource that it lacks, in the documented order.
func (c *change) lacking(in Reserve) (Taken, []Denial) {
	var denied []Denial
	lack := func(short bool, d Denial) {
		if short {
			denied = append(denied, d)
		}
	}
	a, p, asked := c.account, c.provider, in.Asked
	lack(a.Suspended, Denial{Reason: AccountSuspended})
	lack(!p.Enabled, Denial{Reason: ProviderDisabled})

	attempts, credits := a.FreeAttempts.Available, a.Credits.Available
	taken := Taken{Credits, asked.Funding.Credits}
	if k := asked.Funding.Kind; k == FundFreeAttempt || k == FundFreeAttemptOrCredits && attempts > 0 {
		taken = Taken{FreeAttempts, 1}
	}
	short := a.balance(taken.Unit).Available < taken.Amount
	noAttempt := short && asked.Funding.Kind != FundCredits
	lack(noAttempt, Denial{Reason: NoFreeAttempt, Asked: 1, Available: int64(attempts)})
	lack(short && taken.Unit == Credits, Denial{Reason: InsufficientCredits, Asked: int64(taken.Amount), Available: int64(credits)})

	lack(a.SlotsInUse >= a.SlotLimit, Denial{Reason: SlotsExhausted, Asked: 1, Available: a.SlotLimit - a.SlotsInUse})
	lack(p.MaxInFlight > 0 && p.InFlight >= p.MaxInFlight, Denial{
		Reason: ProviderBusy, Asked: 1, Available: p.MaxInFlight - p.InFlight, Uncertain: p.UncertainInFlight,
	})
	available := c.budget.available()
	lack(asked.Budget > available, Denial{Reason: BudgetExhausted, Asked: int64(asked.Budget), Available: int64(available)})
	lack(asked.SubmissionKey != "" && c.b.lines.get(asked.SubmissionKey) != nil, Denial{Reason: DeniedKeyOfAnotherReservation})
	c.b.scarce = c.b.scarce || slices.ContainsFunc(denied, Denial.ofProvider)
	return taken, denied
}

// take makes the reservation with its three holds, and its permit where a key came along.
func (c *change) take(in Reserve, taken Taken) *Permit {
	balance := c.account.balance(taken.Unit)
	balance.Available -= taken.Amount
	balance.Held += taken.Amount
	c.account.SlotsInUse++
	c.provider.InFlight++
	c.budget.Held += in.Asked.Budget
	c.heldChange = in.Asked.Budget
	c.b.keepBudget(c.budget)
	c.b.providers.save(c.provider.ID)

	now := c.b.Now
	c.r = c.b.reservations.add(in.ID, Reservation{
		ID: in.ID, Asked: in.Asked, Taken: taken, Policy: c.provider.Policy, PeriodStart: c.budget.Key.PeriodStart,
		MaxAgeSeconds: in.MaxAgeSeconds, CreatedAt: now, State: Pending,
		Deadline: now.Add(seconds(in.TTLSeconds)), DeadlineMax: now.Add(seconds(in.MaxAgeSeconds)),
		Credit: Held, Slot: Held, Budget: Held,
	})
	c.happened(EventReserved)
	if in.Asked.SubmissionKey == "" {
		return nil
	}
	l := c.addLine(Line{Key: in.Asked.SubmissionKey, Kind: Generation, Token: in.Token, Knowledge: LinePermitted})
	return &Permit{Kind: PermitGranted, ExpiresIn: l.PermitExpiresAt.Sub(now)}
}

// PermitKind tells what a permit allows.
type PermitKind string

// The kinds of permits.
const (
	PermitGranted PermitKind = "GRANTED" // the first request under a key
	PermitResend  PermitKind = "RESEND"  // the same request under the same key again
)

// Permit allows its holder to start one POST within ExpiresIn, by the holder's own monotonic clock measured from before the call.
type Permit struct {
	Kind      PermitKind
	ExpiresIn time.Duration
}
