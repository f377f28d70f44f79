package postgrestest

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir is a folder for a test that starts a server by itself: t.TempDir is closed to the server's user when we are root.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := reachable("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("postgrestest: remove the folder: %v", err)
		}
	})
	return filepath.Join(dir, "pg")
}

// reachable makes a folder that the server's user can enter although we are root: what os.MkdirTemp makes is closed to others.
func reachable(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "settlementd-test-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
