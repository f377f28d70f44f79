package ledger

import (
	"cmp"
	"slices"
)

// table is one kind of row in a book: the rows as the calls decided so far left them, and the drafts of the call being decided.
type table[K comparable, V any] struct {
	rows   map[K]*row[V]
	drafts map[K]*row[V]
}

type row[V any] struct {
	value V
	added bool // not in the database yet
	saved bool // differs from the database, or will when the call answers
}

func (t *table[K, V]) load(values []V, key func(*V) K) {
	for i := range values {
		t.put(key(&values[i]), values[i])
	}
}

// put adds a row as the database has it.
func (t *table[K, V]) put(k K, v V) {
	if t.rows == nil {
		t.rows = map[K]*row[V]{}
	}
	t.rows[k] = &row[V]{value: v}
}

// get returns the row as the call being decided sees it, or nil. It is not for changing.
func (t *table[K, V]) get(k K) *V {
	if d, ok := t.drafts[k]; ok {
		return &d.value
	}
	if r, ok := t.rows[k]; ok {
		return &r.value
	}
	return nil
}

// kept returns the row as it stands if the call answers now: a draft that was not saved is forgotten then.
func (t *table[K, V]) kept(k K) *V {
	if d, ok := t.drafts[k]; ok && d.saved {
		return &d.value
	}
	if r, ok := t.rows[k]; ok {
		return &r.value
	}
	return nil
}

// draft returns the call's own copy of the row, or nil. Changes to it stand only if it is saved and the call answers.
func (t *table[K, V]) draft(k K) *V {
	if d, ok := t.drafts[k]; ok {
		return &d.value
	}
	r, ok := t.rows[k]
	if !ok {
		return nil
	}
	return t.begin(k, &row[V]{value: r.value, added: r.added})
}

// add returns a draft of a row that does not exist yet.
func (t *table[K, V]) add(k K, v V) *V {
	return t.begin(k, &row[V]{value: v, added: true})
}

func (t *table[K, V]) begin(k K, d *row[V]) *V {
	if t.drafts == nil {
		t.drafts = map[K]*row[V]{}
	}
	t.drafts[k] = d
	return &d.value
}

// save marks the call's draft as a change.
func (t *table[K, V]) save(k K) { t.drafts[k].saved = true }

// end closes the call: its saved drafts become the rows, or everything it drafted is forgotten.
func (t *table[K, V]) end(keep bool) {
	if len(t.drafts) == 0 {
		return
	}
	for k, d := range t.drafts {
		if keep && d.saved {
			if t.rows == nil {
				t.rows = map[K]*row[V]{}
			}
			t.rows[k] = d
		}
	}
	clear(t.drafts)
}

// changes returns the changed rows in the order of their keys.
func (t *table[K, V]) changes(order func(a, b K) int) Changed[V] {
	keys := make([]K, 0, len(t.rows))
	added := 0
	for k, r := range t.rows {
		if r.saved {
			keys = append(keys, k)
			if r.added {
				added++
			}
		}
	}
	slices.SortFunc(keys, order)
	c := Changed[V]{Inserted: make([]V, 0, added), Updated: make([]V, 0, len(keys)-added)}
	for _, k := range keys {
		if r := t.rows[k]; r.added {
			c.Inserted = append(c.Inserted, r.value)
		} else {
			c.Updated = append(c.Updated, r.value)
		}
	}
	return c
}

func compare[K ~string](a, b K) int { return cmp.Compare(a, b) }

func compareBudgets(a, b BudgetKey) int {
	return cmp.Or(compare(a.Provider, b.Provider), a.PeriodStart.Compare(b.PeriodStart))
}
