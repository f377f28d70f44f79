package lane

import (
	"slices"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/ledger/ledgerdb"
)

// lane are the calls of a tenant, or of an account that somebody else holds a lock on, in the order in which they came. Its fields belong to
// the mutex of the lanes.
type lane struct {
	key     key
	queue   []*call
	runners int       // that work it off
	coming  int       // of these, how many have not taken their batch yet
	flights []*flight // its batches in the database
	apart   int       // how many batches are still to have their provider to themselves
	met     bool      // every call that was looked at meets a flight; so it stays until one ends
}

// flight is a batch in the database.
type flight struct {
	calls    []*call
	patience ledgerdb.Patience
	named    []*call // all its calls, whatever becomes of them
}

const (
	// apartBatches is how many batches have their provider to themselves once sharing it was no use: it had no room, somebody held its lock,
	// or the batches met at the same accounts.
	apartBatches = 32
	// lookMax is how many times a batch's calls are looked at for one that meets none under way.
	lookMax = 8
)

// wantsRunner tells whether a lane has work for one runner more. The first comes for any call, another for a full batch only: two small ones
// would cost more than one.
func (l *Lanes) wantsRunner(ln *lane) bool {
	if ln.runners == 0 {
		return len(ln.queue) > 0
	}
	return ln.key.account == "" && ln.apart == 0 && !ln.met && ln.runners < l.config.RunnersMax && len(ln.queue) >= l.config.BatchMax*(ln.coming+1)
}

// run works a lane off, a batch a turn, until its queue is empty or left to the lane's other runners.
func (l *Lanes) run(ln *lane) {
	for {
		if err := l.takeTurn(ln.key); err != nil {
			l.drop(ln)
			return
		}
		f := l.take(ln)
		if len(f.calls) > 0 {
			l.process(ln.key, f.calls, f.patience)
		}
		l.endTurn(ln.key)
		if !l.goesOn(ln, f) {
			return
		}
	}
}

// take removes the next batch from a lane's queue. Calls that name a row that a batch under way names stay behind: they would only meet it in
// the database. So do the items of a caller that has others there: they are carried out in their order.
func (l *Lanes) take(ln *lane) *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.coming--
	f := &flight{patience: l.nextPatience(ln)}
	if len(ln.flights) == 0 {
		n := min(len(ln.queue), l.config.BatchMax)
		f.calls, ln.queue = ln.queue[:n:n], ln.queue[n:]
	} else if ln.apart == 0 {
		f.calls = ln.takeFree(l.config.BatchMax)
		ln.met = len(f.calls) == 0
	}
	f.named = slices.Clone(f.calls)
	ln.flights = append(ln.flights, f)
	return f
}

func (l *Lanes) nextPatience(ln *lane) ledgerdb.Patience {
	switch {
	case ln.key.account != "":
		return ledgerdb.WaitForLocks
	case ln.apart > 0:
		return ledgerdb.SkipLockedAccounts
	default:
		return ledgerdb.ShareProviders
	}
}

// takeFree removes the first calls from the queue that have nothing to do with the batches under way, nor with calls before them that stay.
func (ln *lane) takeFree(most int) (free []*call) {
	taken := taken{map[name]bool{}, map[*group]bool{}}
	for _, f := range ln.flights {
		for _, c := range f.named {
			taken.add(c)
		}
	}
	looked := ln.queue[:min(len(ln.queue), lookMax*most)]
	rest := make([]*call, 0, len(ln.queue))
	for _, c := range looked {
		if len(free) == most || taken.has(c) {
			taken.add(c)
			rest = append(rest, c)
		} else {
			free = append(free, c)
		}
	}
	ln.queue = append(rest, ln.queue[len(looked):]...)
	return free
}

// goesOn ends a flight and tells whether its runner takes another. The last runner stays until the queue is empty.
func (l *Lanes) goesOn(ln *lane, f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.flights = slices.DeleteFunc(ln.flights, func(o *flight) bool { return o == f })
	ln.runners--
	if len(f.named) > 0 {
		ln.met = false
		if f.patience == ledgerdb.SkipLockedAccounts && ln.apart > 0 {
			ln.apart--
		}
	}
	if l.wantsRunner(ln) && (len(f.named) > 0 || ln.runners == 0) {
		ln.runners++
		ln.coming++
		return true
	}
	if ln.runners == 0 && l.lanes[ln.key] == ln {
		delete(l.lanes, ln.key)
	}
	return false
}

// keepApart has a tenant's next batches follow one another.
func (l *Lanes) keepApart(k key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ln, ok := l.lanes[k]; ok {
		ln.apart = apartBatches
	}
}

// others tells whether other batches of the lane are in the database.
func (l *Lanes) others(k key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln, ok := l.lanes[k]
	return ok && len(ln.flights) > 1
}

// drop ends a lane whose calls will not be carried out.
func (l *Lanes) drop(ln *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	finish(ln.queue, ErrClosed)
	ln.queue = nil
	ln.coming--
	ln.runners--
	if ln.runners == 0 && l.lanes[ln.key] == ln {
		delete(l.lanes, ln.key)
	}
}

// taken is what calls name, and the groups that they belong to.
type taken struct {
	names  map[name]bool
	groups map[*group]bool
}

// name is of a row that only one batch at a time can have. A provider is none of these: that is shared.
type name struct {
	kind byte
	id   string
}

func (t taken) add(c *call) {
	t.groups[c.group] = true
	eachName(c.keys, func(n name) bool { t.names[n] = true; return false })
}

func (t taken) has(c *call) bool {
	return t.groups[c.group] || eachName(c.keys, func(n name) bool { return t.names[n] })
}

// eachName goes through what a call names until found is true, and tells whether it was.
func eachName(k ledger.Keys, found func(name) bool) bool {
	return anyOf('r', k.Reservations, found) || anyOf('a', k.Accounts, found) || anyOf('k', k.RequestKeys, found) ||
		anyOf('t', k.Tasks, found) || anyOf('e', k.EventKeys, found) || anyOf('x', k.Exceptions, found)
}

func anyOf[K ~string](kind byte, ids []K, found func(name) bool) bool {
	return slices.ContainsFunc(ids, func(id K) bool { return found(name{kind, string(id)}) })
}
