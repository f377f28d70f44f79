package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// BinEnv is the environment variable that names the folder with initdb and postgres, and silences the search.
const BinEnv = "SETTLEMENTD_PG_BIN"

const versionMin = 15

// ErrNotInstalled is returned when no PostgreSQL is found on the machine.
var ErrNotInstalled = errors.New("embedded: no PostgreSQL found: install it (Debian: apt-get install postgresql; " +
	"macOS: brew install postgresql@17) or set " + BinEnv + " to the folder that holds initdb and postgres")

// places are where packagers put servers that are not on PATH; the newest of each pattern is tried first.
var places = []string{
	"/usr/lib/postgresql/*/bin",            // Debian, Ubuntu
	"/usr/pgsql-*/bin",                     // the PostgreSQL packages for Red Hat
	"/usr/local/pgsql/bin",                 // built from source
	"/usr/local/lib/postgresql/*/bin",      // FreeBSD and others
	"/opt/homebrew/opt/postgresql@*/bin",   // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",      // Homebrew on Intel
	"/usr/libexec/postgresql*",             // Alpine
	"/Applications/Postgres.app/*/*/*/bin", // Postgres.app
}

// install is one PostgreSQL on this machine.
type install struct {
	bin   string
	major int
}

// find returns the installation to run: the one that BinEnv names, else that of PATH, else the newest. A cluster that exists
// already (major > 0) wants its own major version, so another one is chosen only when there is no such installation, and refused then.
func find(ctx context.Context, major int) (install, error) {
	var all []install
	for _, bin := range candidates() {
		in, err := inspect(ctx, bin)
		switch {
		case err == nil:
			all = append(all, in)
		case ctx.Err() != nil: // it had no time to answer, which says nothing about it
			return install{}, fmt.Errorf("embedded: look for PostgreSQL: %w", ctx.Err())
		case os.Getenv(BinEnv) != "":
			return install{}, err
		}
	}
	return choose(all, major)
}

func choose(all []install, major int) (install, error) {
	if len(all) == 0 {
		return install{}, ErrNotInstalled
	}
	for _, in := range all {
		if major == 0 && in.major >= versionMin || major > 0 && in.major == major {
			return in, nil
		}
	}
	if major > 0 {
		return install{}, fmt.Errorf("embedded: the data was made by PostgreSQL %d, and %s has version %d: "+
			"install version %d, or start with another folder", major, all[0].bin, all[0].major, major)
	}
	return install{}, fmt.Errorf("embedded: %s has version %d, and %d or later is needed", all[0].bin, all[0].major, versionMin)
}

// candidates lists folders that hold both programs, the preferred one first.
func candidates() []string {
	if bin := os.Getenv(BinEnv); bin != "" {
		return []string{bin}
	}
	var found []string
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			found = append(found, filepath.Dir(path))
		}
	}
	for _, pattern := range places {
		match, _ := filepath.Glob(pattern) // the patterns are constant and well formed
		slices.SortFunc(match, func(a, b string) int { return cmp.Compare(number(b), number(a)) })
		found = append(found, match...)
	}
	var out []string
	for _, bin := range found {
		if executable(filepath.Join(bin, "initdb")) && executable(filepath.Join(bin, "postgres")) && !slices.Contains(out, bin) {
			out = append(out, bin)
		}
	}
	return out
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

var digits = regexp.MustCompile(`\d+`)

// number is the last number in a path: its version, where the path has one.
func number(path string) int {
	all := digits.FindAllString(path, -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(all[len(all)-1])
	return n
}

// inspect asks the server program for its version.
func inspect(ctx context.Context, bin string) (install, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return install{}, fmt.Errorf("embedded: ask %s for its version: %w", filepath.Join(bin, "postgres"), err)
	}
	major := digits.FindString(string(out)) // postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
	n, err := strconv.Atoi(major)
	if err != nil {
		return install{}, fmt.Errorf("embedded: %s says it is %q", filepath.Join(bin, "postgres"), strings.TrimSpace(string(out)))
	}
	return install{bin, n}, nil
}

// madeBy is the major version that made the cluster, 0 when there is none.
func madeBy(data string) (int, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("embedded: read the version of the cluster: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("embedded: %s is not a PostgreSQL cluster: %w", data, err)
	}
	return n, nil
}
