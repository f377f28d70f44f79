package oracle

import "strconv"

// A Cast gives the parts their keys while a test takes the steps of a situation and makes the call of a cell.
type Cast struct {
	prefix string
	made   int
	keys   map[Part]string
}

// NewCast starts with nothing journaled. The prefix keeps the keys of one situation apart from those of another in the same tenant.
func NewCast(prefix string) *Cast {
	c := &Cast{prefix: prefix, keys: map[Part]string{}}
	for _, part := range []Part{Key, NewKey, Check, NewCheck, ForeignKey, UnknownKey} {
		c.keys[part] = c.fresh()
	}
	return c
}

// RequestKey is the key of a part; "" for the first line while there is no second.
func (c *Cast) RequestKey(p Part) string { return c.keys[p] }

// Token is the token of the first permit of a part's line, as token=own and not_sent=key say it.
func (c *Cast) Token(p Part) string { return "token-of-" + c.keys[p] }

// OtherToken is a token that no line's first permit was asked with.
func (c *Cast) OtherToken() string { return "token-of-nobody-" + c.prefix }

// Task is the provider's task id that belongs to a part's line.
func (c *Cast) Task(p Part) string { return "task-of-" + c.keys[p] }

// OtherTask is a task id that belongs to no line.
func (c *Cast) OtherTask() string { return "task-of-nobody-" + c.prefix }

// Promote follows a step that was taken: when it journaled the new key, that becomes the latest one, and the latest the first.
func (c *Cast) Promote(after View) {
	if after[string(NewKey)] == "" {
		return
	}
	c.keys[First] = c.keys[Key]
	c.keys[Key] = c.keys[NewKey]
	c.keys[NewKey] = c.fresh()
}

func (c *Cast) fresh() string {
	c.made++
	return c.prefix + "-k" + strconv.Itoa(c.made)
}
