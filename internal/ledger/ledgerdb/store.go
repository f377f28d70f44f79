package ledgerdb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/ledger"
)

// Store runs batches of one tenant's calls against the ledger's tables.
type Store struct {
	pool *pgxpool.Pool
}

// New makes a store over the pool whose connections have their plans pinned.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Loaded are the rows that a transaction has locked, or of shared providers and budgets only read, for the calls of one tenant.
type Loaded struct {
	Book         *ledger.Book
	Blocked      Blocked // rows that are not in the book because another transaction has them locked
	TenantExists bool
	XID          uint64 // of the transaction, for asking what became of it

	tenant    string
	revisions map[ledger.ReservationID]int32 // as they were loaded
	places    places
	shared    *shared // nil: providers and budgets are locked
}

// places tell where the rows of each table are, by key.
type places struct {
	accounts, providers, budgets, reservations, archived, lines, exceptions map[string]pgtype.TID
}

func newPlaces() places {
	return places{
		map[string]pgtype.TID{}, map[string]pgtype.TID{}, map[string]pgtype.TID{}, map[string]pgtype.TID{}, map[string]pgtype.TID{}, map[string]pgtype.TID{},
		map[string]pgtype.TID{},
	}
}

// Batch is an open transaction with the rows that its calls need. It ends with Commit or Rollback, which give its connection back.
type Batch struct {
	Loaded
	conn *pgxpool.Conn
}

// Begin opens a transaction of one tenant, locks and reads the rows that the keys name, and then the clock, in one round trip. Rows that
// are locked by others are waited for or left out, as patience says. An error leaves nothing open.
func (s *Store) Begin(ctx context.Context, tenant ledger.TenantID, keys ledger.Keys, patience Patience) (*Batch, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: begin: %w", err)
	}
	b := &Batch{conn: conn}
	l := newLoad(tenant, keys, patience)
	l.queue(begin, nothing)
	b.Loaded, err = l.run(ctx, conn.Conn())
	if err == nil && l.overlooked() {
		// Rare: nobody asks often about what is archived. It is locked before everything else, so the locks are taken anew.
		l = newLoad(tenant, keys, patience)
		l.everywhere = true
		l.queue("ROLLBACK", nothing)
		l.queue(begin, nothing)
		b.Loaded, err = l.run(ctx, conn.Conn())
	}
	if err != nil {
		b.Rollback()
		return nil, fmt.Errorf("ledgerdb: begin: %w", err)
	}
	return b, nil
}

const begin = "BEGIN ISOLATION LEVEL READ COMMITTED"

// Load locks and reads the rows that the keys name inside a transaction that is open already: one of this tenant only, and READ COMMITTED.
// It waits for every lock, and looks a second time for what was archived, or made, while it waited. What the book then changes is written by
// Save.
func Load(ctx context.Context, tx pgx.Tx, tenant ledger.TenantID, keys ledger.Keys) (*Loaded, error) {
	load := func() (Loaded, error) {
		l := newLoad(tenant, keys, WaitForLocks)
		l.everywhere = true
		return l.run(ctx, tx)
	}
	loaded, err := load()
	if err == nil && !loaded.Blocked.None() {
		loaded, err = load()
	}
	if err != nil {
		return nil, fmt.Errorf("ledgerdb: load: %w", err)
	}
	return &loaded, nil
}

// rollbackTime bounds a ROLLBACK.
const rollbackTime = 5 * time.Second

// Rollback ends the transaction without a trace and gives its connection back. It does so whatever became of the caller, and does
// nothing after the transaction has ended.
func (b *Batch) Rollback() {
	if b.conn == nil {
		return
	}
	if !b.conn.Conn().IsClosed() && b.conn.Conn().PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTime)
		defer cancel()
		_, _ = b.conn.Exec(ctx, "ROLLBACK")
	}
	b.conn.Release() // the pool closes a connection that still has a transaction open
	b.conn = nil
}
