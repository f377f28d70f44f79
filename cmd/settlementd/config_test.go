package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/settlementd/settlementd/internal/app"
)

// withoutSettings leaves a test alone with the settings that it makes itself.
func withoutSettings(t *testing.T) {
	for _, e := range os.Environ() {
		if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "SETTLEMENTD_") {
			t.Setenv(name, value) // so that it is there again afterwards
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const exampleFile = `
log-level = "warn"

[serve]
database = "dbname=file"
pool-size = 11
default-ttl = "11m"
prepared = false
listen = "127.0.0.1:11"

[migrate]
database = "dbname=other"
`

// TestFlagBeatsEnvironmentBeatsFileBeatsDefault goes through the sources of a setting, also of those in the part that serve embeds.
func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	withoutSettings(t)
	config := file(t, exampleFile)
	type settings struct {
		Database, Listen, LogLevel string
		PoolSize                   int
		DefaultTTL                 time.Duration
		Prepared                   bool
	}
	inFile := settings{"dbname=file", "127.0.0.1:11", "warn", 11, 11 * time.Minute, false}
	inEnvironment := settings{"dbname=env", "127.0.0.1:22", "error", 22, 22 * time.Minute, true}
	environment := map[string]string{
		"SETTLEMENTD_DATABASE": "dbname=env", "SETTLEMENTD_LISTEN": "127.0.0.1:22", "SETTLEMENTD_LOG_LEVEL": "error",
		"SETTLEMENTD_POOL_SIZE": "22", "SETTLEMENTD_DEFAULT_TTL": "22m", "SETTLEMENTD_PREPARED": "true",
	}
	for _, of := range []struct {
		name string
		env  map[string]string
		args []string
		want settings
	}{
		{"default", nil, []string{"serve", "--database=dbname=flag"}, settings{"dbname=flag", "127.0.0.1:7420", "info", 8, 15 * time.Minute, true}},
		{"file", nil, []string{"serve", "--config=" + config}, inFile},
		{"file of the environment", map[string]string{"SETTLEMENTD_CONFIG": config}, []string{"serve"}, inFile},
		{"environment", environment, []string{"serve", "--config=" + config}, inEnvironment},
		{
			"flag", environment,
			[]string{
				"--config", config, "--log-level=debug", "serve", "--database=dbname=flag", "--listen=127.0.0.1:33", "--pool-size=33",
				"--default-ttl=33m", "--no-prepared",
			},
			settings{"dbname=flag", "127.0.0.1:33", "debug", 33, 33 * time.Minute, false},
		},
		{
			"an empty value of the environment is a value", map[string]string{"SETTLEMENTD_DATABASE": "dbname=env", "SETTLEMENTD_LISTEN": ""},
			[]string{"serve", "--config=" + config}, settings{"dbname=env", "", "warn", 11, 11 * time.Minute, false},
		},
	} {
		t.Run(of.name, func(t *testing.T) {
			for name, value := range of.env {
				t.Setenv(name, value)
			}
			var c cli
			if _, err := c.parse(of.args); err != nil {
				t.Fatal(err)
			}
			s := c.Serve
			got := settings{s.Database, s.Listen, c.LogLevel, s.PoolSize, s.DefaultTTL, s.Prepared}
			if diff := cmp.Diff(of.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryErrorNamesItsSetting wants no error that leaves a reader searching for what to change, or for where it stands.
func TestEveryErrorNamesItsSetting(t *testing.T) {
	withoutSettings(t)
	serve := []string{"serve", "--database=dbname=x"}
	for _, of := range []struct {
		name string
		file string
		env  string // name=value
		args []string
		want string
	}{
		{name: "nothing", want: `expected one of "serve", "migrate"`},
		{name: "unknown command", args: []string{"sevre"}, want: "sevre"},
		{name: "unknown flag", args: []string{"serve", "--databas=x"}, want: "unknown flag --databas"},
		{name: "missing in serve", args: []string{"serve"}, want: "database: is required"},
		{name: "missing in migrate", args: []string{"migrate"}, want: "--database"},
		{name: "no number", args: append(serve, "--pool-size=abc"), want: "--pool-size"},
		{name: "out of bounds", args: append(serve, "--pool-size=0"), want: "pool-size: must be from 1 to 1000, not 0"},
		{name: "longer than another", args: append(serve, "--default-ttl=2h", "--max-age=1h"), want: "default-ttl: must be from 1s to 1h0m0s"},
		{name: "no unit", args: append(serve, "--default-ttl=10"), want: "--default-ttl"},
		{name: "no choice", args: append(serve, "--log-level=loud"), want: "--log-level must be one of"},
		{name: "environment", env: "SETTLEMENTD_POOL_SIZE=abc", args: serve, want: "SETTLEMENTD_POOL_SIZE"},
		{name: "environment out of bounds", env: "SETTLEMENTD_BATCH_MAX=0", args: serve, want: "batch-max: must be"},
		{name: "no file", args: append(serve, "--config=/does/not/exist"), want: "--config"},
		{name: "no file in the environment", env: "SETTLEMENTD_CONFIG=/does/not/exist", args: serve, want: "config /does/not/exist"},
		{name: "no TOML", file: "[serve\n", args: serve, want: "config FILE: toml: line"},
		{name: "unknown key", file: "[serve]\ndatabse = 'x'\n", args: serve, want: "config FILE: unknown setting databse in [serve]"},
		{name: "unknown key of another command", file: "[migrate]\npool-size = 1\n", args: serve, want: "unknown setting pool-size in [migrate]"},
		{name: "unknown key at the top", file: "pool-size = 1\n", args: serve, want: "config FILE: unknown setting pool-size"},
		{name: "unknown table", file: "[sevre]\n", args: serve, want: "config FILE: [sevre] is no command"},
		{name: "unknown key of a command below another", file: "[reconcile.import]\nfiel = 'x'\n", args: serve, want: "unknown setting fiel in [reconcile.import]"},
		{name: "unknown command below another", file: "[reconcile.imports]\n", args: serve, want: "[reconcile.imports] is no command"},
		{name: "a setting of the command above", file: "[reconcile.import]\nserver = 'x'\n", args: serve, want: "unknown setting server in [reconcile.import]"},
		{name: "hidden command", file: "[demo-worker]\n", args: serve, want: "[demo-worker] is no command"},
		{name: "hidden flag", file: "[demo]\nplant-failure = 'x'\n", args: serve, want: "unknown setting plant-failure"},
		{name: "a file in a file", file: "config = 'x'\n", args: serve, want: "unknown setting config"},
		{name: "word for a number", file: "[serve]\npool-size = 'many'\n", args: serve, want: "--pool-size: config FILE"},
		{name: "broken number", file: "[serve]\npool-size = 1.5\n", args: serve, want: "--pool-size: config FILE"},
		{name: "list", file: "[serve]\npool-size = [1]\n", args: serve, want: "--pool-size: config FILE: want a string, a number, true or false"},
		{name: "bounds in the file", file: "[serve]\npool-size = 0\n", args: serve, want: "pool-size: must be from 1 to 1000, not 0"},
	} {
		t.Run(of.name, func(t *testing.T) {
			args, want := of.args, of.want
			if of.file != "" {
				name := file(t, of.file)
				args = append([]string{"--config=" + name}, args...)
				want = strings.ReplaceAll(want, "FILE", name)
			}
			if name, value, ok := strings.Cut(of.env, "="); ok {
				t.Setenv(name, value)
			}
			var c cli
			_, err := c.parse(args)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
		})
	}
}

// TestTheFileOfOneCommandIsNotAnothers lets one file serve every command.
func TestTheFileOfOneCommandIsNotAnothers(t *testing.T) {
	withoutSettings(t)
	var c cli
	if _, err := c.parse([]string{"--config=" + file(t, exampleFile), "migrate"}); err != nil {
		t.Fatal(err)
	}
	if c.Migrate.Database != "dbname=other" {
		t.Errorf("migrate has the database %q", c.Migrate.Database)
	}
}

// TestTheDefaultConfigIsNobodysEnvironment keeps the settings of a server nearby out of dev and demo.
func TestTheDefaultConfigIsNobodysEnvironment(t *testing.T) {
	withoutSettings(t)
	want, err := defaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	if want.PoolSize != 8 || want.MaxAge != 168*time.Hour || !want.Prepared {
		t.Errorf("defaults %+v", want)
	}
	t.Setenv("SETTLEMENTD_POOL_SIZE", "1")
	t.Setenv("SETTLEMENTD_SCHEMA", "elsewhere")
	got, err := defaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(app.Config{}, "Log")); diff != "" {
		t.Errorf("defaults (-before +after):\n%s", diff)
	}
}

// TestCommandsBelowAnotherHaveTablesInItsTable goes through the settings of reconcile and of what is below it.
func TestCommandsBelowAnotherHaveTablesInItsTable(t *testing.T) {
	withoutSettings(t)
	config := file(t, "[reconcile]\nserver = 'file:1'\ntenant = 'file'\noutput = 'json'\n[reconcile.drain]\nmax-chunks = 7\n[reconcile.import]\ndelimiter = 'tab'\n")
	t.Setenv("SETTLEMENTD_TENANT", "env")
	var c cli
	if _, err := c.parse([]string{"--config=" + config, "reconcile", "--server=flag:1", "drain", "job"}); err != nil {
		t.Fatal(err)
	}
	r := &c.Reconcile
	got := []any{r.Server, r.Tenant, r.Output, r.Drain.Job, r.Drain.MaxChunks}
	if diff := cmp.Diff([]any{"flag:1", "env", "json", "job", int32(7)}, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}
