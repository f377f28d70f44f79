package postgrestest

import (
	"fmt"
	"net"
	"sync"
	"testing"
)

// Fault is what a Proxy does to a COMMIT.
type Fault int

// The faults. All of them cut the connection; they differ in what the server has done by then.
const (
	CutBeforeCommit Fault = iota + 1 // COMMIT never reaches the server, which rolls back
	CutAfterCommit                   // the server has committed and answered; the answer is lost
	CutOnCommit                      // COMMIT is on its way when the connection breaks: for commits that hang
)

// Proxy stands between the service and its database and breaks connections at the moment that matters. It understands the
// protocol well enough to find a COMMIT behind other statements of a batch, prepared or not.
type Proxy struct {
	t      testing.TB
	db     *DB
	listen net.Listener

	mu      sync.Mutex
	wanted  []order // struck one at each COMMIT, the first first
	links   map[*link]struct{}
	keys    map[string]bool // of the sessions that were struck
	refuse  bool
	commits int
	running sync.WaitGroup
}

// order is a fault that waits for its COMMIT.
type order struct {
	fault  Fault
	struck chan struct{}
}

// NewProxy starts a proxy in front of the test's database; it ends with the test.
func NewProxy(t testing.TB, db *DB) *Proxy {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, db: db, listen: listen, links: map[*link]struct{}{}, keys: map[string]bool{}}
	p.running.Add(1)
	go p.accept()
	t.Cleanup(func() {
		_ = listen.Close()
		p.Refuse()
		p.running.Wait()
	})
	return p
}

// DSN connects a role to the database through the proxy.
func (p *Proxy) DSN(role string) string {
	at := p.listen.Addr().(*net.TCPAddr)
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", at.IP, at.Port, role, p.db.Name)
}

// ServiceDSN connects the service's role through the proxy.
func (p *Proxy) ServiceDSN() string { return p.DSN(Service) }

// Next strikes the next COMMIT that no earlier Next waits for; the channel is closed when that has happened.
func (p *Proxy) Next(f Fault) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := order{f, make(chan struct{})}
	p.wanted = append(p.wanted, o)
	return o.struck
}

// Refuse cuts all connections and lets no new one through: the database is away.
func (p *Proxy) Refuse() { p.gate(true) }

// Accept ends Refuse.
func (p *Proxy) Accept() { p.gate(false) }

func (p *Proxy) gate(refuse bool) {
	p.mu.Lock()
	p.refuse = refuse
	p.mu.Unlock()
	if refuse {
		p.Cut()
	}
}

// Cut breaks all connections that are open.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Commits is how many COMMITs came by, those that were struck included.
func (p *Proxy) Commits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commits
}

func (p *Proxy) accept() {
	defer p.running.Done()
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.open(client.(*net.TCPConn))
	}
}

func (p *Proxy) open(client *net.TCPConn) {
	server, err := net.Dial("unix", p.db.cluster.server.Socket())
	if err != nil { // the server is down, and so are we
		reset(client)
		return
	}
	l := newLink(p, client, server)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		l.cut()
		return
	}
	p.links[l] = struct{}{}
	p.running.Add(2)
	go l.forward()
	go l.backward()
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// take hands out what is to happen to a COMMIT that has just come by.
func (p *Proxy) take() (order, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commits++
	if len(p.wanted) == 0 {
		return order{}, false
	}
	o := p.wanted[0]
	p.wanted = p.wanted[1:]
	return o, true
}

func (p *Proxy) mark(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys[key] = true
}

func (p *Proxy) struck(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[key]
}

// putBack is for a COMMIT that was none: a statement before it had failed.
func (p *Proxy) putBack(o order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = append([]order{o}, p.wanted...)
}

// reset closes a connection so that its peer sees it break instead of end.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
