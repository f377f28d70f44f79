package app_test

import (
	"context"
	"net"
	"testing"

	"github.com/settlementd/settlementd/internal/app"
	"github.com/settlementd/settlementd/internal/app/apptest"
	"github.com/settlementd/settlementd/internal/postgres/postgrestest"
)

// TestAServerThatIsStoppedBeforeItServesEndsWell stops a server while it opens its connections: that is no fault of the database.
func TestAServerThatIsStoppedBeforeItServesEndsWell(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := app.Run(ctx, apptest.Config(postgrestest.New(t).ServiceDSN()), l); err != nil {
		t.Errorf("got %v", err)
	}
}
