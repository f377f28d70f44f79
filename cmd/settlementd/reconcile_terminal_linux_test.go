package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

// TestReconcileShowsColoursAndBarsOnATerminalOnly compares what is said to a terminal with what is said to a pipe.
func TestReconcileShowsColoursAndBarsOnATerminalOnly(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.completed("known", 120)
	d.file("usage.csv", "request_key,cost,currency\nknown,0.00012,USD\nnobody's,1,USD\n")
	for i := range 4 {
		d.reserved(fmt.Sprintf("job-%d", i))
	}
	d.approvedJob("cancel-1", 2)
	for _, of := range []struct {
		args      []string
		bar, line string
	}{
		{[]string{"import", "--provider=studio", "--file=FILE:usage.csv"}, "3 of 3 ", "3 of 3 lines taken\n"},
		{[]string{"drain", "cancel-1"}, "4 of 4 ", "4 of 4 targets done\n"},
	} {
		shown := d.onTerminal(of.args...)
		if !strings.Contains(shown, of.bar) || !strings.Contains(shown, "100 %") || strings.Contains(shown, of.line) {
			t.Errorf("%v shows no bar:\n%q", of.args, shown)
		}
		if !strings.Contains(shown, "\x1b[32m") {
			t.Errorf("%v shows no colours:\n%q", of.args, shown)
		}
		stdout, stderr, status := d.reconcile(append([]string{}, of.args...)...)
		if status != 0 || strings.Contains(stdout+stderr, "\x1b") || strings.Contains(stderr, "100 %") || !strings.HasSuffix(stderr, of.line) {
			t.Errorf("%v to a pipe: status %d\n%s%q", of.args, status, stdout, stderr)
		}
	}
}

// approvedJob is a job that cancels everything it finds.
func (d *desk) approvedJob(id string, chunk int32) {
	d.t.Helper()
	jobs := settlementv1.NewReconciliationJobServiceClient(d.Conn)
	plan, err := jobs.PlanJob(d.t.Context(), &settlementv1.PlanJobRequest{TenantId: apptest.Tenant, Subject: &settlementv1.PlanJobRequest_Search{
		Search: &settlementv1.JobSearch{JobId: id, Action: settlementv1.JobAction_JOB_ACTION_CANCEL, ChunkSize: &chunk},
	}})
	if err == nil {
		_, err = jobs.RegisterJob(d.t.Context(), &settlementv1.RegisterJobRequest{TenantId: apptest.Tenant, Manifest: plan.GetManifest(), RegisteredBy: "anna"})
	}
	if err == nil {
		_, err = jobs.ApproveJob(d.t.Context(), &settlementv1.ApproveJobRequest{
			TenantId: apptest.Tenant, JobId: id, ManifestHash: plan.GetManifestHash(), ApprovedBy: "bert",
		})
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// TestArchiveShowsHowFarItHasComeOnATerminal archives in front of somebody.
func TestArchiveShowsHowFarItHasComeOnATerminal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.over(5)
	shown := d.onScreen("archive", "--database="+d.DB.ServiceDSN(), "--older-than=1m", "--chunk=2")
	for _, want := range []string{"acme: looked at 2, archived 2", "acme: looked at 5, archived 5", "5 reservations archived."} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %q", want, shown)
		}
	}
}

// onTerminal runs settlementd reconcile with a terminal for its output, and returns what it shows there.
func (d *desk) onTerminal(args ...string) string {
	d.t.Helper()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "FILE:", d.dir+"/")
	}
	return d.onScreen(append([]string{"reconcile", "--server=" + d.Address, "--tenant=" + apptest.Tenant}, args...)...)
}

func (d *desk) onScreen(args ...string) string {
	d.t.Helper()
	keyboard, screen := terminal(d.t)
	defer func() { _ = keyboard.Close() }()
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = screen, screen
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "FORCE_COLOR=")
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	_ = screen.Close()
	var shown bytes.Buffer
	if _, err := io.Copy(&shown, keyboard); err != nil && !errors.Is(err, syscall.EIO) { // which is how a terminal ends
		d.t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		d.t.Errorf("%v: %v\n%s", args, err, shown.String())
	}
	return shown.String()
}

// terminal makes a terminal of 200 columns: the end that a person sits at, and the end that a program writes to.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}); err != nil {
		t.Fatal(err)
	}
	return person, program
}
