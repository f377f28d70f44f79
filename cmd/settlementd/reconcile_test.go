package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// desk is an operator's desk: a running server whose clock stands still, the program, and a folder of files.
type desk struct {
	*apptest.Service
	t   *testing.T
	dir string
	now time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{Service: apptest.New(t), t: t, dir: t.TempDir()}
	d.at(0)
	d.Seed(t, func(p *settlementv1.PutProviderRequest) { p.BudgetLimitMicros = 1_000_000_000 })
	if _, err := d.Accounts.PutAccount(t.Context(), &settlementv1.PutAccountRequest{TenantId: apptest.Tenant, AccountId: apptest.Account, SlotLimit: 100}); err != nil {
		t.Fatal(err)
	}
	return d
}

// at stops the clock so long after noon.
func (d *desk) at(after time.Duration) {
	d.now = time.Date(2031, 5, 20, 12, 0, 0, 0, time.UTC).Add(after)
	d.StopClock(d.now)
}

// nowhere is where no server is.
var nowhere = &apptest.Service{Address: "127.0.0.1:1"}

// file writes a file.
func (d *desk) file(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// reserved makes a reservation that nothing was submitted for.
func (d *desk) reserved(id string, change ...func(*settlementv1.ReserveRequest)) {
	d.t.Helper()
	d.Granted(d.t, id, "", change...)
}

// completed makes a request whose cost is on record.
func (d *desk) completed(key string, micros int64) {
	d.t.Helper()
	d.Granted(d.t, "r-"+key, key, func(r *settlementv1.ReserveRequest) { r.Funding = credits(1) })
	d.Settle(d.t, "r-"+key, key, apptest.Completed(apptest.Money(micros)))
}

func credits(n int64) *settlementv1.Funding {
	return &settlementv1.Funding{Source: &settlementv1.Funding_Credits{Credits: n}}
}

// reconcile runs settlementd reconcile. FILE: in an argument names a file of the desk.
func (d *desk) reconcile(args ...string) (stdout, stderr string, status int) {
	d.t.Helper()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "FILE:", d.dir+"/")
	}
	env := []string{"SETTLEMENTD_SERVER=" + d.Address, "SETTLEMENTD_TENANT=" + apptest.Tenant}
	return call(d.t, env, append([]string{"reconcile"}, args...)...)
}

// said compares what a command said with its golden file.
func (d *desk) said(name string, want int, args ...string) {
	d.t.Helper()
	line := "$ settlementd reconcile " + strings.Join(args, " ")
	stdout, stderr, status := d.reconcile(append([]string{}, args...)...)
	got := fmt.Sprintf("%s\n%s", line, stdout)
	if stderr != "" {
		got += "--- standard error\n" + stderr
	}
	got = strings.NewReplacer(d.dir+"/", "FILE:", d.Address, "SERVER").Replace(got + fmt.Sprintf("--- status %d\n", status))
	if status != want {
		d.t.Errorf("%s: status %d, want %d", line, status, want)
	}
	golden := filepath.Join("testdata", "reconcile", name+".golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			d.t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		d.t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
		d.t.Errorf("%s differs (-want +got); go test ./cmd/settlementd -run Reconcile -update writes it anew:\n%s", golden, diff)
	}
}
