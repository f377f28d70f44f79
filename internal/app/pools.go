package app

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settlementd/settlementd/internal/postgres"
)

// pools are a server's connections: for the ledger's transactions, for everything that only reads, and one to ask after its health, which
// must not wait behind a long list.
type pools struct {
	ledger, read, health *pgxpool.Pool
}

// open makes the pools, or none.
func (c *Config) open(ctx context.Context) (*pools, error) {
	p := &pools{}
	for _, of := range []struct {
		pool **pgxpool.Pool
		kind postgres.Kind
		size int
	}{{&p.ledger, postgres.Ledger, c.PoolSize}, {&p.read, postgres.Read, c.ReadPoolSize}, {&p.health, postgres.Read, 1}} {
		pool, err := postgres.Open(ctx, postgres.Config{
			DSN: c.Database, Schema: c.Schema, Kind: of.kind, MaxConns: of.size, ApplicationName: "settlementd", NoPreparedStatements: !c.Prepared,
		})
		if err != nil {
			p.close()
			return nil, err
		}
		*of.pool = pool
	}
	return p, nil
}

func (p *pools) close() {
	for _, pool := range []*pgxpool.Pool{p.health, p.read, p.ledger} {
		if pool != nil {
			pool.Close()
		}
	}
}

// writable tells whether a write would be taken now. From a server that was demoted nobody goes on reading.
func (p *pools) writable(ctx context.Context) error {
	err := postgres.Writable(ctx, p.health)
	if errors.Is(err, postgres.ErrReadOnly) {
		p.read.Reset()
	}
	return err
}
