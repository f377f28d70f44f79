package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"
)

// parse reads the command line twice: first for the name of the configuration file, then with that file's settings behind the flags.
func parse(parser *kong.Kong, args []string) (*kong.Context, error) {
	trace, err := kong.Trace(parser, args)
	if err != nil {
		return nil, err
	}
	file := os.Getenv("SETTLEMENTD_CONFIG")
	for _, p := range trace.Path {
		if p.Flag != nil && p.Flag.Name == "config" {
			file = fmt.Sprint(trace.FlagValue(p.Flag))
		}
	}
	if file != "" {
		resolver, err := loadFile(file)
		if err != nil {
			return nil, err
		}
		if err := kong.Resolvers(resolver).Apply(parser); err != nil {
			return nil, err
		}
	}
	return parser.Parse(args)
}

// fileSettings gives flags their values from a TOML file. A flag and the environment win over it.
type fileSettings struct {
	name   string
	values map[string]any
}

func loadFile(name string) (kong.Resolver, error) {
	s := fileSettings{name: name}
	if _, err := toml.DecodeFile(name, &s.values); err != nil {
		return nil, fmt.Errorf("config %s: %w", name, err)
	}
	return s, nil
}

// Validate refuses keys that name no setting, so that a typing error is not a silent default.
func (s fileSettings) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, f := range app.Flags {
		known[f.Name] = true
	}
	for _, command := range app.Children {
		for _, f := range command.Flags {
			known[command.Name+"."+f.Name] = true
		}
	}
	for key, value := range s.values {
		table, ok := value.(map[string]any)
		if !ok && !known[key] {
			return fmt.Errorf("config %s: unknown setting %s", s.name, key)
		}
		for inner := range table {
			if !known[key+"."+inner] {
				return fmt.Errorf("config %s: unknown setting %s.%s", s.name, key, inner)
			}
		}
	}
	return nil
}

// Resolve returns the file's value of a flag, or nothing where the environment has one.
func (s fileSettings) Resolve(_ *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	values := s.values
	if parent.Command != nil {
		values, _ = s.values[parent.Command.Name].(map[string]any)
	}
	return values[flag.Name], nil
}

// version is the module's version as the toolchain recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
