package oracle

import (
	"slices"
	"strings"
)

func (r *reader) readCalls() {
	for _, w := range r.rows("Calls", "call", "rpc", "line", "says") {
		name, rpc, part := w.cells[0], w.cells[1], Part(w.cells[2])
		if _, twice := r.table.CallNamed(name); twice {
			r.complain(w.line, "the call %q stands twice", name)
		}
		words, known := rpcs[rpc]
		if !known {
			r.complain(w.line, "no such rpc: %q", rpc)
			continue
		}
		if part != "" && part != ForeignKey && !slices.Contains(Parts, part) {
			r.complain(w.line, "no such part: %q", part)
		}
		says := strings.Fields(w.cells[3])
		if len(says) == 0 || !slices.Contains(words.facts, says[0]) {
			r.complain(w.line, "%s cannot say %q", rpc, w.cells[3])
			continue
		}
		call := &Call{Name: name, RPC: rpc, Part: part, Fact: says[0], Args: map[string]string{}, line: w.line}
		for _, p := range r.pairs(w.line, says[1:]) {
			r.readArg(call, words, p)
		}
		r.table.Calls = append(r.table.Calls, call)
	}
}

func (r *reader) readArg(call *Call, words rpcWords, p pair) {
	if !slices.Contains(words.args, p.name) {
		r.complain(call.line, "%s does not take %q", call.RPC, p.name)
		return
	}
	v := r.value(call.line, p.name, p.value)
	switch allowed := argWords[p.name]; {
	case p.name == "wait":
		call.Wait = v.number()
	case len(allowed) == 0:
		v.number()
		call.Args[p.name] = p.value
	default:
		call.Args[p.name] = v.word(allowed...)
	}
}
