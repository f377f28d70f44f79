package fakeprovider

import (
	"context"
	"crypto/sha256"
	"math"
	"sync"
	"time"
)

// book is all that the provider knows. Its methods decide under one lock and do no I/O; what is left to do comes back as a [plan].
type book struct {
	o        Options
	couriers sync.WaitGroup
	courier  *courier

	mu          sync.Mutex
	closed      bool
	life        context.Context // ends at a reset or close, and with it every delivery under way
	end         context.CancelFunc
	size        int // records, tasks and charges
	held        int
	generations *desk
	checks      *desk
	tasks       map[string]*task
	charges     []Charge
	charged     int64
	changed     chan struct{} // closed at the next change of a counter; nil while nobody watches
}

// desk keeps the keys of one kind of request.
type desk struct {
	records    map[string]*record
	total      *Counters
	generation GenerationScript // of keys without a script of their own
	check      CheckScript
}

// record is what is known of a key.
type record struct {
	key        string
	steps      int // POSTs played since the key got its script
	generation *GenerationScript
	check      *CheckScript
	counts     Counters
	total      *Counters
	gates      []*gate
	work       []accepted // oldest first
	refusal    bool       // a refusal was billed
}

// accepted is work that a key names, and stays the same for the key while the idempotency window lasts.
type accepted struct {
	at      time.Time
	content [sha256.Size]byte
	task    *task // nil for a check
}

func newBook(o Options) *book {
	b := &book{o: o, courier: newCourier(o.CallbackTimeout)}
	b.clear()
	return b
}

// clear forgets everything. The caller has the lock, or the only reference.
func (b *book) clear() {
	b.life, b.end = context.WithCancel(context.Background())
	b.size, b.held, b.charges, b.charged = 0, 0, nil, 0
	b.generations = &desk{records: map[string]*record{}, total: &Counters{}}
	b.checks = &desk{records: map[string]*record{}, total: &Counters{}}
	b.tasks = map[string]*task{}
}

// reset cuts every held answer, stops every delivery and timer, and forgets all scripts, work and counters.
func (b *book) reset(closing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range []*desk{b.generations, b.checks} {
		for _, r := range d.records {
			for _, g := range r.gates {
				g.shut()
			}
		}
	}
	for _, t := range b.tasks {
		t.stopTimer()
	}
	b.end()
	b.clear()
	b.closed = b.closed || closing
	b.announce()
}

// record finds or makes the record of a key; nil when the book is full or closed.
func (b *book) record(d *desk, key string) *record {
	if r := d.records[key]; r != nil {
		return r
	}
	if b.closed || !b.room(1) {
		return nil
	}
	b.size++
	r := &record{key: key, total: d.total}
	d.records[key] = r
	return r
}

func (b *book) room(n int) bool { return b.size+n <= b.o.RecordsMax }

// count changes the counters of a key and of all keys alike.
func (b *book) count(r *record, change func(*Counters)) {
	change(&r.counts)
	change(r.total)
	b.announce()
}

func (b *book) announce() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// counts returns the counters of a key, or of all keys where it is empty, and a channel that closes when any counter changes.
func (b *book) counts(key string) (Counts, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	if key == "" {
		return Counts{Generations: *b.generations.total, Checks: *b.checks.total}, b.changed
	}
	var c Counts
	if r := b.generations.records[key]; r != nil {
		c.Generations = r.counts
	}
	if r := b.checks.records[key]; r != nil {
		c.Checks = r.counts
	}
	return c, b.changed
}

// charge puts a cost on the statement. It is refused when there is no room for it and for `more` records beside it.
func (b *book) charge(r *record, taskID string, micros int64, more int) bool {
	if !b.room(1+more) || b.charged > math.MaxInt64-micros {
		return false
	}
	b.size += 1 + more
	b.charged += micros
	b.charges = append(b.charges, Charge{RequestKey: r.key, TaskID: taskID, CostMicros: micros, Currency: b.o.Currency})
	b.count(r, func(c *Counters) { c.ChargedMicros += micros })
	return true
}

// statement returns the charges in the order of acceptance, of one key or of all.
func (b *book) statement(key string) []Charge {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []Charge{}
	for _, c := range b.charges {
		if key == "" || c.RequestKey == key {
			list = append(list, c)
		}
	}
	return list
}

// standing returns the work that a key names now, if its idempotency window is open.
func (b *book) standing(r *record) (accepted, bool) {
	if len(r.work) == 0 {
		return accepted{}, false
	}
	last := r.work[len(r.work)-1]
	return last, b.o.Clock.Now().Before(last.at.Add(b.o.IdempotencyWindow))
}

func orElse(value *int64, other int64) int64 {
	if value == nil {
		return other
	}
	return *value
}
