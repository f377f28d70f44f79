package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"

	"github.com/settlementd/settlementd/internal/app"
)

// parse reads the command line twice: first for the name of the configuration file, then with that file's settings behind the flags.
func (c *cli) parse(args []string) (*kong.Context, error) {
	parser, err := c.parser()
	if err != nil {
		return nil, err
	}
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
		settings, err := loadFile(file)
		if err != nil {
			return nil, err
		}
		if err := settings.Validate(parser.Model); err != nil {
			return nil, err
		}
		if err := kong.Resolvers(settings).Apply(parser); err != nil {
			return nil, err
		}
	}
	return parser.Parse(args)
}

// exitStatuses is what the help says of them.
const exitStatuses = `Exit status: 0 done; 1 failed, or found something broken; 2 a command, a setting or a file was not understood, and nothing was done; ` +
	`3 a statement was imported, but some of its lines are bad; 130 interrupted before it was done. Ctrl-C and SIGTERM are the end of serve, ` +
	`dev and fakeprovider: 0.`

func (c *cli) parser() (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("settlementd"),
		kong.Description("Reservation and settlement of paid AI generations on PostgreSQL.\n\n"+exitStatuses),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.Vars{"version": "settlementd " + version(), "dataDir": defaultDataDir()},
	)
}

// fileSettings gives flags their values from a TOML file. A flag and the environment win over it.
type fileSettings struct {
	name   string
	values map[string]any
}

func loadFile(name string) (fileSettings, error) {
	s := fileSettings{name: name}
	if _, err := toml.DecodeFile(name, &s.values); err != nil {
		return s, fmt.Errorf("config %s: %w", name, err)
	}
	return s, nil
}

// Validate refuses keys that name no setting, so that a typing error is not a silent default.
func (s fileSettings) Validate(app *kong.Application) error {
	return s.validate(app.Node, "", s.values)
}

// validate goes through the table of a command and of the commands below it.
func (s fileSettings) validate(command *kong.Node, path string, values map[string]any) error {
	in := ""
	if path != "" {
		in = fmt.Sprintf(" in [%s]", strings.TrimSuffix(path, "."))
	}
	for key, value := range values {
		table, isTable := value.(map[string]any)
		below := slices.IndexFunc(command.Children, func(n *kong.Node) bool { return n.Name == key && !n.Hidden })
		switch {
		case isTable && below < 0:
			return fmt.Errorf("config %s: [%s%s] is no command", s.name, path, key)
		case isTable:
			if err := s.validate(command.Children[below], path+key+".", table); err != nil {
				return err
			}
		case !names(command.Flags, key):
			return fmt.Errorf("config %s: unknown setting %s%s", s.name, key, in)
		}
	}
	return nil
}

// table returns the settings of a command: those of a command below another one stand in a table of its table.
func (s fileSettings) table(command *kong.Node) map[string]any {
	if command == nil || command.Parent == nil {
		return s.values
	}
	values, _ := s.table(command.Parent)[command.Name].(map[string]any)
	return values
}

// names tells whether a file can set one of the flags by this name. What only makes sense on a command line it cannot.
func names(flags []*kong.Flag, name string) bool {
	return slices.ContainsFunc(flags, func(f *kong.Flag) bool {
		return f.Name == name && !f.Hidden && name != "help" && name != "version" && name != "config"
	})
}

// Resolve returns the file's value of a flag as it would stand on a command line, or nothing where the environment has one.
func (s fileSettings) Resolve(_ *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	var text string
	switch value := s.table(parent.Command)[flag.Name].(type) {
	case nil:
		return nil, nil
	case string, int64, float64, bool:
		text = fmt.Sprint(value)
	default:
		return nil, fmt.Errorf("config %s: want a string, a number, true or false", s.name)
	}
	// Decoded here once, only so that an error names the file.
	scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: text})
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, reflect.New(flag.Target.Type()).Elem()); err != nil {
		return nil, fmt.Errorf("config %s: %w", s.name, err)
	}
	return text, nil
}

// defaultConfig is the configuration of a server that nobody configured, whatever the environment says.
func defaultConfig() (app.Config, error) {
	var c struct{ app.Config }
	parser, err := kong.New(&c)
	if err != nil {
		return c.Config, err
	}
	for _, f := range parser.Model.Flags {
		f.Tag.Envs = nil
	}
	_, err = parser.Parse([]string{"--database=required"})
	return c.Config, err
}

// version is the module's version as the toolchain recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
