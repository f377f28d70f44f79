package statements

import (
	"context"
	"fmt"

	"github.com/settlementd/settlementd/internal/ledger"
	"github.com/settlementd/settlementd/internal/reconcile/statements/statementdb"
)

// requests are the lines of the journal that a page of a statement may be about.
type requests struct {
	provider ledger.ProviderID
	byKey    map[ledger.RequestKey]*ledger.Line
	byTask   map[ledger.TaskID]*ledger.Line
}

// findRequests reads what a page needs of the journal in one statement.
func (im *imported) findRequests(ctx context.Context, page []charge) (*requests, error) {
	var keys []ledger.RequestKey
	var tasks []ledger.TaskID
	for i := range page {
		c := &page[i]
		if c.fault != "" {
			continue
		}
		if c.key != "" {
			keys = append(keys, c.key)
		}
		if c.task != "" {
			tasks = append(tasks, c.task)
		}
	}
	found, err := im.server.reader.Requests(ctx, im.id.Tenant, keys, tasks)
	if err != nil {
		return nil, err
	}
	r := &requests{provider: im.id.Provider, byKey: map[ledger.RequestKey]*ledger.Line{}, byTask: map[ledger.TaskID]*ledger.Line{}}
	for i := range found {
		l := &found[i]
		r.byKey[l.Key] = l
		if l.Task != "" && l.Provider == r.provider {
			r.byTask[l.Task] = l
		}
	}
	return r, nil
}

// match finds the request that a charge is about, or tells why there is none.
func (r *requests) match(c *charge) (l *ledger.Line, miss statementdb.Line) {
	switch {
	case c.fault != "":
		return nil, c.line(statementdb.Bad, c.fault)
	case c.key == "":
		if l := r.byTask[c.task]; l != nil {
			return l, miss
		}
		return nil, c.line(statementdb.UnknownToUs, "no request has this provider_task_id")
	}
	l, ofTask := r.byKey[c.key], r.byTask[c.task]
	switch {
	case ofTask != nil && ofTask != l:
		return nil, c.line(statementdb.Bad, fmt.Sprintf("provider_task_id belongs to request %s", ofTask.Key))
	case l == nil:
		return nil, c.line(statementdb.UnknownToUs, "no request has this request_key")
	case l.Provider != r.provider:
		return nil, c.line(statementdb.UnknownToUs, fmt.Sprintf("the request went to provider %s", l.Provider))
	case c.task != "" && l.Task != "" && l.Task != c.task:
		return nil, c.line(statementdb.Bad, fmt.Sprintf("the request has the provider_task_id %s", l.Task))
	}
	return l, miss
}
