package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var update = flag.Bool("update", false, "write the README's table of settings anew")

const (
	readme        = "../../README.md"
	settingsBegin = "<!-- settings -->\n"
	settingsEnd   = "<!-- end of settings -->\n"
)

// TestREADMEListsEverySetting holds the README's table against the command line.
func TestREADMEListsEverySetting(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), settingsBegin)
	listed, after, ended := strings.Cut(rest, settingsEnd)
	if !found || !ended {
		t.Fatalf("the README has no table between %q and %q", settingsBegin, settingsEnd)
	}
	want := settingsTable(t)
	if listed == want {
		return
	}
	if !*update {
		t.Fatalf("the README's settings differ from the command line: go test ./cmd/settlementd -run README -update\n%s", want)
	}
	if err := os.WriteFile(readme, []byte(before+settingsBegin+want+settingsEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestREADMECommandsAreUnderstood parses the README's commands of reconcile and bench as the program would.
func TestREADMECommandsAreUnderstood(t *testing.T) {
	withoutSettings(t)
	t.Setenv("SETTLEMENTD_TENANT", "demo")
	t.Setenv("SETTLEMENTD_OPERATOR", "anna")
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^bin/settlementd ((?:reconcile|bench) [^#\n]*)`).FindAllStringSubmatch(string(text), -1)
	for _, command := range commands {
		var args []string
		for _, arg := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(command[1], -1) {
			args = append(args, strings.Trim(arg, `"`))
		}
		var c cli
		if _, err := c.parse(args); err != nil {
			t.Errorf("%s: %v", command[1], err)
		}
	}
	if len(commands) < 13 {
		t.Errorf("only %d commands", len(commands))
	}
}

func settingsTable(t *testing.T) string {
	parser, err := new(cli).parser()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| command | setting | environment | default | |\n| --- | --- | --- | --- | --- |\n")
	rows(&b, "all", parser.Model.Flags)
	below(&b, parser.Model.Node)
	return b.String()
}

// below writes the settings of the commands below one, each behind those of its own.
func below(b *strings.Builder, command *kong.Node) {
	for _, c := range command.Children {
		if !c.Hidden {
			rows(b, c.Path(), c.Flags)
			below(b, c)
		}
	}
}

func rows(b *strings.Builder, command string, flags []*kong.Flag) {
	for _, f := range flags {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			continue
		}
		value := f.Default
		if f.Name == "data-dir" {
			value = "in the user's data folder" // differs from machine to machine
		}
		fmt.Fprintf(b, "| %s | `%s` | %s | %s | %s |\n", command, f.Name, code(strings.Join(f.Envs, " ")), code(value), f.Help)
	}
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
