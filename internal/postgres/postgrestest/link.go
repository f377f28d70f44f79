package postgrestest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
)

// link is one connection through a proxy.
//
//	client ── forward: finds COMMIT ──▶ server
//	client ◀── backward: finds its answer ── server
type link struct {
	proxy          *Proxy
	client, server net.Conn
	ends           sync.Once

	statements map[string]bool // prepared statements, and whether they are COMMIT; only forward uses it
	portals    map[string]bool // the same for bound ones

	mu       sync.Mutex
	loses    *order // the answer to the COMMIT under way is to be lost
	orphaned bool   // the client is cut off, and the server works on
	key      string // what the client could cancel its statement with

	finished chan struct{} // backward has returned
}

func newLink(p *Proxy, client, server net.Conn) *link {
	return &link{proxy: p, client: client, server: server, finished: make(chan struct{}),
		statements: map[string]bool{}, portals: map[string]bool{}}
}

// cut breaks both sides at once.
func (l *link) cut() {
	l.ends.Do(func() {
		reset(l.client)
		_ = l.server.Close()
	})
}

func (l *link) end() {
	l.cut()
	l.proxy.forget(l)
	l.proxy.running.Done()
}

// message is one of the frontend/backend protocol, with its head.
type message []byte

func (m message) kind() byte   { return m[0] }
func (m message) body() []byte { return m[5:] }

const messageMax = 64 << 20

// readMessage reads a message. The first ones of a connection have no kind, and get 0.
func readMessage(r *bufio.Reader, first bool) (message, error) {
	head := make([]byte, 5)
	from := 0
	if first {
		from = 1
	}
	if _, err := io.ReadFull(r, head[from:]); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(head[1:]))
	if size < 4 || size > messageMax {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	m := make(message, 1+size)
	copy(m, head)
	_, err := io.ReadFull(r, m[5:])
	return m, err
}

// The codes in the place of the protocol's version.
const (
	cancelRequest = 80877102
	sslRequest    = 80877103
	gssRequest    = 80877104
)

// greet passes the first message on, and declines encryption before it. A request to cancel is lost with the connection
// it is for: pgx sends one whenever a connection breaks, which would end a COMMIT that hangs.
func (l *link) greet(r *bufio.Reader) error {
	for {
		m, err := readMessage(r, true)
		if err != nil {
			return err
		}
		if len(m.body()) < 4 {
			return fmt.Errorf("a first message of %d bytes", len(m.body()))
		}
		switch binary.BigEndian.Uint32(m.body()) {
		case sslRequest, gssRequest:
			if _, err := l.client.Write([]byte{'N'}); err != nil {
				return err
			}
			continue
		case cancelRequest:
			if l.proxy.struck(string(m.body()[4:])) {
				return fmt.Errorf("a request to cancel what was struck")
			}
		}
		_, err = l.server.Write(m[1:])
		return err
	}
}

// forward carries what the client says.
func (l *link) forward() {
	defer l.end()
	r, w := bufio.NewReader(l.client), bufio.NewWriter(l.server)
	if l.greet(r) != nil {
		return
	}
	for {
		m, err := readMessage(r, false)
		if err != nil {
			return
		}
		if l.commits(m) {
			if o, ok := l.proxy.take(); ok && l.strike(o, m, w) {
				return
			}
		}
		if _, err := w.Write(m); err != nil {
			return
		}
		if r.Buffered() == 0 && w.Flush() != nil {
			return
		}
	}
}

// strike does to a COMMIT what was ordered. It answers false when the link goes on for now.
func (l *link) strike(o order, m message, w *bufio.Writer) bool {
	l.mu.Lock()
	l.proxy.mark(l.key)
	l.mu.Unlock()
	switch o.fault {
	case CutBeforeCommit:
		_ = w.Flush() // what came before COMMIT does arrive
		l.cut()
	case CutOnCommit:
		l.mu.Lock()
		l.orphaned = true
		l.mu.Unlock()
		_, _ = w.Write(m)
		if m.kind() == 'E' {
			_, _ = w.Write(syncMessage) // the client's own may not have come yet
		}
		_ = w.Flush()
		reset(l.client)
	default: // backward does it
		l.mu.Lock()
		l.loses = &o
		l.mu.Unlock()
		return false
	}
	close(o.struck)
	if o.fault == CutOnCommit {
		<-l.finished
	}
	return true
}

var syncMessage = message{'S', 0, 0, 0, 4}

// backward carries what the server answers.
func (l *link) backward() {
	defer l.end()
	defer close(l.finished)
	r, w := bufio.NewReader(l.server), bufio.NewWriter(l.client)
	for {
		m, err := readMessage(r, false)
		if err != nil {
			return
		}
		o, orphaned := l.answers(m)
		switch {
		case o != nil:
			_ = w.Flush() // the answers before it do arrive
			l.cut()
			close(o.struck)
			return
		case orphaned && m.kind() == 'Z': // the server has done what it was asked
			return
		case orphaned:
			continue
		}
		_, err = w.Write(m)
		if err == nil && r.Buffered() == 0 {
			err = w.Flush()
		}
		if err != nil && !l.alone() {
			return
		}
	}
}

func (l *link) alone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.orphaned
}

// answers returns the order that a message fulfils (it is the answer to a COMMIT that stands), and whether anybody wants to hear it.
func (l *link) answers(m message) (o *order, orphaned bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.kind() == 'K' {
		l.key = string(m.body())
	}
	if l.loses == nil {
		return nil, l.orphaned
	}
	switch m.kind() {
	case 'C':
		if string(m.body()) == "COMMIT\x00" {
			o, l.loses = l.loses, nil
		}
	case 'Z': // the round trip is over without it
		l.proxy.putBack(*l.loses)
		l.loses = nil
	}
	return o, l.orphaned
}

// commits tells whether a message of the client makes the server run COMMIT, and keeps track of what is prepared and bound.
func (l *link) commits(m message) bool {
	first, rest := text(m.body())
	switch m.kind() {
	case 'Q': // a simple query, which may be several statements
		for one := range strings.SplitSeq(first, ";") {
			if isCommit(one) {
				return true
			}
		}
	case 'P': // Parse: name, query
		query, _ := text(rest)
		l.statements[first] = isCommit(query)
	case 'B': // Bind: portal, statement
		statement, _ := text(rest)
		l.portals[first] = l.statements[statement]
	case 'E': // Execute: portal
		return l.portals[first]
	case 'C': // Close: 'S' or 'P', name
		if strings.HasPrefix(first, "S") {
			delete(l.statements, first[1:])
		}
	}
	return false
}

// text is the string at the start of a body, and what follows it.
func text(body []byte) (string, []byte) {
	s, rest, _ := bytes.Cut(body, []byte{0})
	return string(s), rest
}

func isCommit(query string) bool {
	words := strings.Fields(strings.ToLower(strings.TrimRight(strings.TrimSpace(query), ";")))
	if len(words) == 0 || len(words) > 1 && words[1] == "prepared" {
		return false
	}
	return words[0] == "commit" || words[0] == "end"
}
