package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChooseAnInstallation(t *testing.T) {
	old, mid, recent := install{"/13", 13}, install{"/15", 15}, install{"/17", 17}
	for name, c := range map[string]struct {
		all   []install
		major int
		want  string
		says  string
	}{
		"the first that is new enough": {[]install{old, mid, recent}, 0, "/15", ""},
		"the one of the data":          {[]install{recent, mid}, 15, "/15", ""},
		"not the data's":               {[]install{recent}, 15, "", "made by PostgreSQL 15"},
		"too old":                      {[]install{old}, 0, "", "15 or later"},
		"none":                         {nil, 0, "", "apt-get install postgresql"},
	} {
		in, err := choose(c.all, c.major)
		if in.bin != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", name, in.bin, err)
		}
	}
}

func TestTheEnvironmentNamesTheInstallation(t *testing.T) {
	in, err := find(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(BinEnv, in.bin)
	if again, err := find(t.Context(), in.major); err != nil || again != in {
		t.Errorf("%v, %v", again, err)
	}
	t.Setenv(BinEnv, t.TempDir())
	if _, err := find(t.Context(), 0); err == nil || !strings.Contains(err.Error(), os.Getenv(BinEnv)) {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestNothingInstalled(t *testing.T) {
	saved := places
	t.Cleanup(func() { places = saved })
	places = nil
	t.Setenv(BinEnv, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := find(t.Context(), 0); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("told %v", err)
	}
}

func TestVersionsAreSortedAsNumbers(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"9.6", "10", "15", "16"} {
		bin := filepath.Join(dir, v, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"initdb", "postgres"} {
			if err := os.WriteFile(filepath.Join(bin, name), nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	saved := places
	t.Cleanup(func() { places = saved })
	places = []string{dir + "/*/bin"}
	t.Setenv(BinEnv, "")
	t.Setenv("PATH", t.TempDir())
	got := candidates()
	if len(got) != 4 || got[0] != filepath.Join(dir, "16", "bin") || got[2] != filepath.Join(dir, "10", "bin") {
		t.Errorf("%q", got)
	}
}
