package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReconcileRefusesWhatItDoesNotUnderstand wants status 2, a name for what is wrong, and no server to have been asked.
func TestReconcileRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, dir: t.TempDir()}
	manifest := `{"job_id": "j", "action": "CANCEL", "chunk_size": 10, "allow_partial": true,
  "targets": [{"reservation_id": "r", "revision": 0, "taken_unit": "CREDITS", "taken": 10}]}`
	d.file("manifest.json", manifest)
	d.file("float.json", strings.Replace(manifest, `"taken": 10`, `"taken": 10.0`, 1))
	d.file("text.json", strings.Replace(manifest, `"revision": 0`, `"revision": "0"`, 1))
	d.file("true.json", strings.Replace(manifest, `"chunk_size": 10`, `"chunk_size": true`, 1))
	d.file("key.json", strings.Replace(manifest, `"taken": 10`, `"taken": 10, "qty": 10`, 1))
	d.file("targets.csv", "reservation_id,revision,taken_unit,taken\nr,0,CREDITS,10\nr2,1.0,CREDITS,10\n")
	d.file("usage.csv", "key,cost,currency\nk,1,USD\n")
	register := func(file string, more ...string) []string {
		return append([]string{"register", "--by=anna", "--manifest=FILE:" + file}, more...)
	}
	for _, of := range []struct {
		args []string
		want string
	}{
		{nil, `expected one of "plan"`},
		{[]string{"plann"}, "plann"},
		{[]string{"plan"}, "--job-id and --action are required for a search"},
		{[]string{"plan", "--job-id=j", "--action=DELETE"}, "--action must be one of"},
		{[]string{"plan", "--manifest=FILE:manifest.json", "--account=a"}, "--manifest tries a manifest and searches nothing"},
		{[]string{"plan", "--job-id=j", "--action=CANCEL", "--older-than=1500ms"}, "whole seconds"},
		{[]string{"plan", "--job-id=j", "--action=CANCEL", "--output=yaml"}, "--output must be one of"},
		{register("float.json"), "float.json: line 2: targets[0].taken: want a whole number, not 10.0"},
		{register("text.json"), `text.json: line 2: targets[0].revision: want a whole number, not "0"`},
		{register("true.json"), "true.json: line 1: chunk_size: want a whole number, not true"},
		{register("key.json"), "key.json: line 2: targets[0].qty: is no field of a manifest"},
		{register("targets.csv", "--job-id=j", "--action=CANCEL", "--chunk-size=1"), "targets.csv: line 3: revision: want a whole number, not 1.0"},
		{register("targets.csv"), "targets.csv: job_id: a file of targets does not say it"},
		{register("manifest.json", "--job-id=j"), "manifest.json: a manifest in JSON says job_id"},
		{register("nothing.json"), "nothing.json: no such file"},
		{[]string{"register", "--manifest=FILE:manifest.json"}, "--by"},
		{[]string{"approve", "j", "--by=anna"}, "--hash"},
		{[]string{"drain", "j", "--max-chunks=0"}, "max-chunks: must be from 1 to 64"},
		{[]string{"drain", "j", "--max-chunks=65"}, "max-chunks: must be from 1 to 64"},
		{[]string{"drain", "j", "--max-chunks=1.0"}, "--max-chunks"},
		{[]string{"run"}, "<job>"},
		{[]string{"jobs", "--state=RUNNING"}, "--state must be one of"},
		{[]string{"import", "--provider=p", "--file=FILE:usage.csv"}, `usage.csv: the header has no column request_key or provider_task_id: "key,cost,currency"`},
		{[]string{"import", "--provider=p", "--file=FILE:nothing.csv"}, "nothing.csv: no such file"},
		{[]string{"import", "--provider=p", "--file=FILE:usage.csv", "--period-start=may"}, "period-start: want a time such as"},
		{[]string{"import", "--provider=p", "--file=FILE:usage.csv", "--period-start=2031-05-01"}, "period-end: must be there"},
		{[]string{"import", "--provider=p", "--file=FILE:usage.csv", "--delimiter=pipe"}, "--delimiter must be one of"},
		{[]string{"exceptions", "list", "--reason=COST"}, "no exception has the reason COST"},
		{[]string{"exceptions", "resolve", "x"}, "--apply"},
		{[]string{"exceptions", "resolve", "x", "--apply=a", "--dismiss=b"}, "--apply"},
	} {
		d.Service = nowhere
		stdout, stderr, status := d.reconcile(append([]string{}, of.args...)...)
		if status != 2 || stdout != "" || !strings.Contains(stderr, of.want) {
			t.Errorf("%v: status %d, %s%s, want %q", of.args, status, stdout, stderr, of.want)
		}
	}
	if _, stderr, status := call(t, nil, "reconcile", "run", "j"); status != 2 || !strings.Contains(stderr, "--tenant") {
		t.Errorf("no tenant: status %d, %s", status, stderr)
	}
}

// TestReconcileSaysThatNobodyListens tries an address where nothing is, and one where something is that never says a word.
func TestReconcileSaysThatNobodyListens(t *testing.T) {
	t.Parallel()
	mute, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mute.Close() })
	d := &desk{t: t, dir: t.TempDir()}
	d.file("usage.csv", "request_key,cost,currency\n")
	for _, args := range [][]string{
		{"report", "j"}, {"run", "j"}, {"drain", "j"}, {"exceptions"}, {"plan", "--job-id=j", "--action=CANCEL"},
		{"import", "--provider=p", "--file=" + filepath.Join(d.dir, "usage.csv")},
	} {
		stdout, stderr, status := call(t, []string{"SETTLEMENTD_TENANT=t"}, append([]string{"reconcile", "--server=" + nowhere.Address}, args...)...)
		if status != 1 || stdout != "" || !strings.Contains(stderr, "no server answers at "+nowhere.Address) || !strings.Contains(stderr, "connection refused") {
			t.Errorf("%v: status %d, %s%s", args, status, stdout, stderr)
		}
	}
	begun := time.Now()
	_, stderr, status := call(t, []string{"SETTLEMENTD_TENANT=t"}, "reconcile", "--server="+mute.Addr().String(), "report", "j")
	if took := time.Since(begun); status != 1 || !strings.Contains(stderr, "does not speak gRPC within 2s") || took < 2*time.Second || took > time.Minute {
		t.Errorf("a mute server: status %d after %s, %s", status, took, stderr)
	}
}
