package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAFileInTheMakingTakesItsPlaceAtTheEnd makes a file over another one, through a symbolic link, twice: dropped and kept.
func TestAFileInTheMakingTakesItsPlaceAtTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, link := filepath.Join(dir, "chart.svg"), filepath.Join(dir, "link.svg")
	if err := os.WriteFile(name, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(name, link); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []bool{false, true} {
		f, err := makeFile(link)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("new"); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(name); string(text) != "old" {
			t.Errorf("before its end it is %q", text)
		}
		want := "old"
		if kept {
			want = "new"
			if err := f.keep(); err != nil {
				t.Error(err)
			}
		}
		f.drop()
		info, err := os.Lstat(name)
		if text, _ := os.ReadFile(link); string(text) != want || err != nil || info.Mode() != 0o640 {
			t.Errorf("kept %t: it is %q, %v, %v", kept, text, info.Mode(), err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 2 {
			t.Errorf("the folder has %v", entries)
		}
	}
}

// TestADeviceIsWrittenWhereItIs keeps it.
func TestADeviceIsWrittenWhereItIs(t *testing.T) {
	t.Parallel()
	f, err := makeFile(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.keep(); err != nil {
		t.Error(err)
	}
	f.drop()
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("it is %v, %v", info, err)
	}
}
