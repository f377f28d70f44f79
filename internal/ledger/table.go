package ledger

import (
	"cmp"
	"slices"
)

// table is one kind of row in a book. What calls have kept is never changed in place: who changes a row drafts a copy of it first.
type table[K comparable, V any] struct {
	rows    map[K]*row[K, V]
	drafted []*row[K, V] // by the call being decided
}

type row[K comparable, V any] struct {
	key     K
	kept    *V   // as the calls decided so far left it; nil: there is none yet
	draft   *V   // of the call being decided, or nil
	saved   bool // the draft is to be kept
	added   bool // not in the database yet
	changed bool // what is kept differs from the database
}

func (t *table[K, V]) load(values []V, key func(*V) K) {
	rows := make([]row[K, V], len(values))
	t.rows = make(map[K]*row[K, V], len(values))
	for i := range values {
		r := &rows[i]
		r.key, r.kept = key(&values[i]), &values[i]
		t.rows[r.key] = r
	}
}

// put adds a row as the database has it.
func (t *table[K, V]) put(k K, v V) { t.at(k).kept = &v }

// at returns the place of a row, whether there is one yet or not.
func (t *table[K, V]) at(k K) *row[K, V] {
	r, ok := t.rows[k]
	if !ok {
		if t.rows == nil {
			t.rows = map[K]*row[K, V]{}
		}
		r = &row[K, V]{key: k}
		t.rows[k] = r
	}
	return r
}

// get returns the row as the call being decided sees it, or nil. It is not for changing.
func (t *table[K, V]) get(k K) *V {
	r, ok := t.rows[k]
	switch {
	case !ok:
		return nil
	case r.draft != nil:
		return r.draft
	}
	return r.kept
}

// standing returns the row as it stands if the call answers now: a draft that was not saved is forgotten then.
func (t *table[K, V]) standing(k K) *V {
	r, ok := t.rows[k]
	switch {
	case !ok:
		return nil
	case r.saved:
		return r.draft
	}
	return r.kept
}

// draft returns the call's own copy of the row, or nil. Changes to it stand only if it is saved and the call answers.
func (t *table[K, V]) draft(k K) *V {
	r, ok := t.rows[k]
	if !ok {
		return nil
	}
	if r.draft == nil && r.kept != nil {
		copied := *r.kept
		t.begin(r, &copied)
	}
	return r.draft
}

// add returns a draft of a row that does not exist yet.
func (t *table[K, V]) add(k K, v V) *V {
	r := t.at(k)
	r.added = true
	t.begin(r, &v)
	return r.draft
}

func (t *table[K, V]) begin(r *row[K, V], draft *V) {
	r.draft = draft
	t.drafted = append(t.drafted, r)
}

// save marks the call's draft as a change.
func (t *table[K, V]) save(k K) { t.rows[k].saved = true }

// end closes the call: its saved drafts become the rows, or everything it drafted is forgotten.
func (t *table[K, V]) end(keep bool) {
	for _, r := range t.drafted {
		if keep && r.saved {
			r.kept, r.changed = r.draft, true
		}
		r.draft, r.saved = nil, false
	}
	t.drafted = t.drafted[:0]
}

// changes returns the changed rows in the order of their keys.
func (t *table[K, V]) changes(order func(a, b K) int) Changed[V] {
	rows := make([]*row[K, V], 0, len(t.rows))
	added := 0
	for _, r := range t.rows {
		if r.changed {
			rows = append(rows, r)
			if r.added {
				added++
			}
		}
	}
	slices.SortFunc(rows, func(a, b *row[K, V]) int { return order(a.key, b.key) })
	c := Changed[V]{Inserted: make([]V, 0, added), Updated: make([]V, 0, len(rows)-added)}
	for _, r := range rows {
		if r.added {
			c.Inserted = append(c.Inserted, *r.kept)
		} else {
			c.Updated = append(c.Updated, *r.kept)
		}
	}
	return c
}

// list is what calls add to the book in their order.
type list[V any] struct {
	values []V
	stand  int // so many; the others are of the call being decided
}

func (l *list[V]) add(v V) { l.values = append(l.values, v) }

// end closes the call: what it added stands, or is forgotten.
func (l *list[V]) end(keep bool) {
	if keep {
		l.stand = len(l.values)
	}
	l.values = l.values[:l.stand]
}

func (l *list[V]) kept() []V { return l.values[:l.stand] }

func compare[K ~string](a, b K) int { return cmp.Compare(a, b) }

func compareBudgets(a, b BudgetKey) int {
	return cmp.Or(compare(a.Provider, b.Provider), a.PeriodStart.Compare(b.PeriodStart))
}
