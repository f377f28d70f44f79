package bench

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Options are the flags of a run. A list that is empty is that of the plan.
type Options struct {
	Mode        []Mode `enum:"noop,single,lane,batch" default:"noop,single,lane,batch" help:"Ways to make calls (noop, single, lane, batch)."`
	Callers     []int  `help:"Callers at a time. Absent: 1,16,64,256,1024."`
	Budgets     []int  `help:"Budgets that the calls of a tenant are spread over. Absent: 1,10."`
	Accounts    []int  `help:"Accounts that all calls are spread over. Absent: 10000,1."`
	Tenants     []int  `help:"Tenants that calls are spread over. Absent: 1,100."`
	Connections []int  `help:"Connections of the client. Absent: 1,32."`
	BatchItems  int    `default:"500" help:"Calls in one RPC of the batch mode (1 to 1000)."`
	BatchRPCs   int    `name:"batch-rpcs" default:"4" help:"RPCs of the batch mode that are under way at a time, at most as many as callers (1 to 64)."`

	Quick bool          `help:"Only 1 and 256 callers on one hot budget, in less than a minute."`
	For   time.Duration `help:"How long the whole run may take, but for filling databases; its points share the time. Absent: 5s a point."`
	Rate  string        `help:"Also let calls be due at this rate, in calls a second, or half: half of what the lane mode reached at 256 callers. none: do not. Absent: half, but none with --quick." placeholder:"CALLS"`
	IDs   string        `name:"ids" enum:"ordered,random" default:"ordered" help:"Ids of reservations and requests that ascend, as ULIDs do, or that do not, as random UUIDs (ordered, random)."`

	Existing    []int64       `help:"Measure with this many reservations in the database before the first call; several numbers, ascending, measure all points with each, side by side."`
	OldSnapshot time.Duration `help:"Also run the lane mode for this long while a transaction holds an old snapshot open."`
}

// Validate names the first option that makes no sense.
func (o *Options) Validate() error {
	for _, list := range []struct {
		name   string
		values []int
		most   int
	}{
		{"callers", o.Callers, 10_000}, {"budgets", o.Budgets, 1000}, {"accounts", o.Accounts, 10_000_000}, {"tenants", o.Tenants, 10_000},
		{"connections", o.Connections, 1000}, {"batch-items", []int{o.BatchItems}, 1000}, {"batch-rpcs", []int{o.BatchRPCs}, 64},
	} {
		for _, v := range list.values {
			if v < 1 || v > list.most {
				return fmt.Errorf("%s: must be from 1 to %d, not %d", list.name, list.most, v)
			}
		}
	}
	distinct := len(slices.Compact(slices.Clone(o.Existing))) == len(o.Existing)
	if !slices.IsSorted(o.Existing) || !distinct || len(o.Existing) > 0 && o.Existing[0] < 0 {
		return fmt.Errorf("existing: must ascend from 0 or more, not %v", o.Existing)
	}
	if o.For < 0 || o.OldSnapshot < 0 {
		return fmt.Errorf("for, old-snapshot: must not be negative")
	}
	if err := o.validateRate(); err != nil {
		return err
	}
	return o.validateFor()
}

func (o *Options) validateRate() error {
	switch o.Rate {
	case "", rateNone:
		return nil
	case rateHalf:
		if !names(o.Mode, Lane) {
			return fmt.Errorf("rate: half is of the lane mode, which is not measured")
		}
		return nil
	}
	if r, err := strconv.ParseFloat(o.Rate, 64); err != nil || r < 1 || r > 1e6 {
		return fmt.Errorf("rate: must be half, none, or from 1 to 1000000, not %s", o.Rate)
	}
	return nil
}

const (
	rateHalf = "half"
	rateNone = "none"
)
