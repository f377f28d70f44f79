package manifestfile_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/reconcile/command/manifestfile"
)

// whole is a manifest that nothing is wrong with. The tests break it.
const whole = `{
  "job_id": "release-1",
  "action": "RELEASE_CUSTOMER",
  "chunk_size": 10,
  "allow_partial": true,
  "targets": [
    {"reservation_id": "job-1", "revision": 3, "taken_unit": "CREDITS", "taken": 10},
    {"reservation_id": "job-2", "revision": 0, "taken_unit": "FREE_ATTEMPTS", "taken": 1}
  ]
}
`

func want() *settlementv1.Manifest {
	return &settlementv1.Manifest{
		JobId: "release-1", Action: settlementv1.JobAction_JOB_ACTION_RELEASE_CUSTOMER, ChunkSize: 10, AllowPartial: true,
		Targets: []*settlementv1.Target{
			{ReservationId: "job-1", Revision: new(int32(3)), TakenUnit: settlementv1.Unit_UNIT_CREDITS, Taken: new(int64(10))},
			{ReservationId: "job-2", Revision: new(int32(0)), TakenUnit: settlementv1.Unit_UNIT_FREE_ATTEMPTS, Taken: new(int64(1))},
		},
	}
}

func TestAManifestInJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{whole, "\ufeff" + whole, " \r\n" + strings.ReplaceAll(whole, "\n", "\r\n")} {
		got, err := manifestfile.Read(strings.NewReader(text), manifestfile.Head{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want(), got, protocmp.Transform()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	var b bytes.Buffer
	if err := manifestfile.Write(&b, want()); err != nil || b.String() != whole {
		t.Errorf("written: %v\n%s", err, b.String())
	}
}

func TestNothingInAManifestIsGuessed(t *testing.T) {
	t.Parallel()
	for _, of := range []struct{ old, new, want string }{
		{`"chunk_size": 10`, `"chunk_size": 10.0`, "line 4: chunk_size: want a whole number, not 10.0"},
		{`"chunk_size": 10`, `"chunk_size": 1e1`, "line 4: chunk_size: want a whole number, not 1e1"},
		{`"chunk_size": 10`, `"chunk_size": "10"`, `line 4: chunk_size: want a whole number, not "10"`},
		{`"chunk_size": 10`, `"chunk_size": true`, "line 4: chunk_size: want a whole number, not true"},
		{`"chunk_size": 10`, `"chunk_size": null`, "line 4: chunk_size: want a whole number, not null"},
		{`"chunk_size": 10`, `"chunk_size": [10]`, "line 4: chunk_size: want a whole number, not a list"},
		{`"chunk_size": 10`, `"chunk_size": {}`, "line 4: chunk_size: want a whole number, not an object"},
		{`"chunk_size": 10`, `"chunk_size": -0`, "line 4: chunk_size: want a whole number, not -0"},
		{`"chunk_size": 10`, `"chunk_size": 010`, "line 4: no JSON: invalid character"},
		{`"chunk_size": 10`, `"chunk_size": 2147483648`, "line 4: chunk_size: is out of range"},
		{`"chunk_size": 10`, `"Chunk_size": 10`, "line 4: Chunk_size: is no field of a manifest"},
		{`"chunk_size": 10`, `"chunk_size": 10, "chunk_size": 10`, "line 4: chunk_size: stands twice"},
		{`"chunk_size": 10,`, ``, "line 10: chunk_size: is missing"},
		{`"chunk_size": 10`, `"chunk_size": 10, "note": "x"`, "line 4: note: is no field of a manifest"},
		{`"allow_partial": true`, `"allow_partial": "true"`, `line 5: allow_partial: want true or false, not "true"`},
		{`"allow_partial": true`, `"allow_partial": 1`, "line 5: allow_partial: want true or false, not 1"},
		{`"release-1"`, `7`, "line 2: job_id: want a string, not 7"},
		{`"RELEASE_CUSTOMER"`, `"JOB_ACTION_CANCEL"`, `line 3: action: want CANCEL or RELEASE_CUSTOMER, not "JOB_ACTION_CANCEL"`},
		{`"RELEASE_CUSTOMER"`, `"release_customer"`, "line 3: action: want CANCEL or RELEASE_CUSTOMER"},
		{`"RELEASE_CUSTOMER"`, `""`, "line 3: action: want CANCEL or RELEASE_CUSTOMER"},
		{`"revision": 3`, `"revision": 3.0`, "line 7: targets[0].revision: want a whole number, not 3.0"},
		{`"revision": 0`, `"revision": "0"`, `line 8: targets[1].revision: want a whole number, not "0"`},
		{`"revision": 0, `, ``, "line 8: targets[1].revision: is missing"},
		{`"taken": 10`, `"taken": true`, "line 7: targets[0].taken: want a whole number, not true"},
		{`"taken": 10`, `"taken": 9223372036854775808`, "line 7: targets[0].taken: is out of range"},
		{`"taken": 10`, `"taken": 10, "qty": 10`, "line 7: targets[0].qty: is no field of a manifest"},
		{`"CREDITS"`, `"UNIT_CREDITS"`, `line 7: targets[0].taken_unit: want CREDITS or FREE_ATTEMPTS, not "UNIT_CREDITS"`},
		{`"targets": [`, `"targets": {`, "line 6: targets: want a list, not an object"},
		{`{"reservation_id": "job-1"`, `7, {"reservation_id": "job-1"`, "line 7: targets[0]: want an object, not 7"},
		{"]\n}", "]\n} {}", "line 10: there is something behind the manifest"},
		{"]\n}\n", "]\n}]\n", "line 10: there is something behind the manifest"},
		{"]\n}", "]\n", "line 9: the file ends too early"},
		{"]\n}", "", "targets: the file ends too early"},
		{"{\n  \"job_id\"", "[{\n  \"job_id\"", "line 1: want an object, not a list"},
	} {
		text := strings.Replace(whole, of.old, of.new, 1)
		_, err := manifestfile.Read(strings.NewReader(text), manifestfile.Head{})
		if err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s in place of %s: %v, want %q", of.new, of.old, err, of.want)
		}
	}
}

var head = manifestfile.Head{JobID: "release-1", Action: "RELEASE_CUSTOMER", ChunkSize: 10, AllowPartial: true}

func TestAManifestInDelimiterSeparatedText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"reservation_id,revision,taken_unit,taken\njob-1,3,CREDITS,10\njob-2,0,FREE_ATTEMPTS,1\n",
		"\ufefftaken;taken_unit;revision;reservation_id\r\n10;CREDITS;3;job-1\r\n1;FREE_ATTEMPTS;0;job-2",
		"reservation_id\trevision\ttaken_unit\ttaken\n\"job-1\"\t\"3\"\t\"CREDITS\"\t\"10\"\n\njob-2\t0\tFREE_ATTEMPTS\t1\n",
	} {
		got, err := manifestfile.Read(strings.NewReader(text), head)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want(), got, protocmp.Transform()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestNothingInAFileOfTargetsIsGuessed(t *testing.T) {
	t.Parallel()
	const header = "reservation_id,revision,taken_unit,taken\n"
	for text, want := range map[string]string{
		"":                                     "the file has no header",
		"reservation_id,revision,taken_unit\n": "the header has no column taken",
		"reservation_id,revision,taken_unit,qty\n":         `the header has the column "qty"`,
		"reservation_id,revision,taken_unit,Taken\n":       `the header has the column "Taken"`,
		"reservation_id,revision,taken_unit,taken,taken\n": "the header has the column taken twice",
		header + "a,1,CREDITS,5\nb,1.0,CREDITS,5\n":        "line 3: revision: want a whole number, not 1.0",
		header + "a,true,CREDITS,5\n":                      "line 2: revision: want a whole number, not true",
		header + "a,\"\"\"1\"\"\",CREDITS,5\n":             `line 2: revision: want a whole number, not "1"`,
		header + "a, 1,CREDITS,5\n":                        "line 2: revision: want a whole number, not  1",
		header + "a,+1,CREDITS,5\n":                        "line 2: revision: want a whole number, not +1",
		header + "a,01,CREDITS,5\n":                        "line 2: revision: want a whole number, not 01",
		header + "a,,CREDITS,5\n":                          "line 2: revision: want a whole number",
		header + "a,2147483648,CREDITS,5\n":                "line 2: revision: is out of range",
		header + "a,1,credits,5\n":                         "line 2: taken_unit: want CREDITS or FREE_ATTEMPTS",
		header + "a,1,CREDITS,1e1\n":                       "line 2: taken: want a whole number, not 1e1",
		header + "a,1,CREDITS\n":                           "line 2: has 3 fields, and the header has 4",
		header + "a,1,CREDITS,5,6\n":                       "line 2: has 5 fields",
		header + "a,1,CREDITS,\"5\n":                       "line 2: a quote is not closed",
	} {
		if _, err := manifestfile.Read(strings.NewReader(text), head); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestWhatIsSaidBesideAManifest(t *testing.T) {
	t.Parallel()
	targets := "reservation_id,revision,taken_unit,taken\na,1,CREDITS,5\n"
	for _, of := range []struct {
		text   string
		change func(*manifestfile.Head)
		want   string
	}{
		{targets, func(h *manifestfile.Head) { h.JobID = "" }, "job_id: a file of targets does not say it"},
		{targets, func(h *manifestfile.Head) { h.Action = "" }, "action: a file of targets does not say it"},
		{targets, func(h *manifestfile.Head) { h.ChunkSize = 0 }, "chunk_size: a file of targets does not say it"},
		{targets, func(h *manifestfile.Head) { h.Action = "DELETE" }, "action: want CANCEL or RELEASE_CUSTOMER"},
		{whole, func(*manifestfile.Head) {}, "a manifest in JSON says"},
		{strings.Repeat(" ", 16<<20) + "{}", func(*manifestfile.Head) {}, "is larger than"},
	} {
		h := head
		of.change(&h)
		if _, err := manifestfile.Read(strings.NewReader(of.text), h); err == nil || !strings.HasPrefix(err.Error(), of.want) {
			t.Errorf("%+v: %v, want %q", h, err, of.want)
		}
	}
}

func TestManifestsReadBackAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[!-~]{1,20}`)
		m := want()
		m.JobId, m.ChunkSize, m.Targets = id.Draw(t, "job"), rapid.Int32().Draw(t, "chunk size"), nil
		for range rapid.IntRange(0, 5).Draw(t, "targets") {
			m.Targets = append(m.Targets, &settlementv1.Target{
				ReservationId: id.Draw(t, "id"), Revision: new(rapid.Int32().Draw(t, "revision")),
				TakenUnit: settlementv1.Unit(rapid.Int32Range(1, 2).Draw(t, "unit")), Taken: new(rapid.Int64().Draw(t, "taken")),
			})
		}
		var b bytes.Buffer
		if err := manifestfile.Write(&b, m); err != nil {
			t.Fatal(err)
		}
		got, err := manifestfile.Read(&b, manifestfile.Head{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got, protocmp.Transform()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(whole)
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = manifestfile.Read(strings.NewReader(text), manifestfile.Head{})
	})
}
