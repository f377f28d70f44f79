package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine is what the numbers depend on.
type Machine struct {
	Cores    int               `json:"cores"`
	CPU      string            `json:"cpu"`
	Kernel   string            `json:"kernel"`
	Go       string            `json:"go"`
	Postgres string            `json:"postgres"`
	Fsync    bool              `json:"fsync"`
	Folder   string            `json:"data_filesystem"`
	Settings map[string]string `json:"postgres_settings"`
}

// told are the settings that matter to what is measured.
var told = []string{
	"shared_buffers", "max_wal_size", "synchronous_commit", "wal_sync_method", "full_page_writes", "wal_compression", "checkpoint_timeout",
	"autovacuum", "jit", "data_directory",
}

// machine looks at the machine and asks the database.
func (d *database) machine(ctx context.Context) (Machine, error) {
	m := Machine{Cores: runtime.NumCPU(), CPU: cpuModel(), Kernel: kernel(), Go: runtime.Version(), Settings: map[string]string{}}
	ask := func(name string) (value string, err error) {
		err = d.conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value)
		return value, err
	}
	for _, name := range told {
		value, err := ask(name)
		if err != nil {
			return m, fmt.Errorf("database: %w", err)
		}
		m.Settings[name] = value
	}
	m.Folder = filesystem(m.Settings["data_directory"])
	delete(m.Settings, "data_directory")
	var err error
	if m.Postgres, err = ask("server_version"); err != nil {
		return m, fmt.Errorf("database: %w", err)
	}
	fsync, err := ask("fsync")
	if err != nil {
		return m, fmt.Errorf("database: %w", err)
	}
	m.Fsync = fsync == "on"
	return m, nil
}

func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return runtime.GOOS + " " + strings.TrimSpace(string(release))
}

// InMemory tells whether a folder is on a file system that no commit waits for.
func InMemory(folder string) bool {
	kind := filesystem(folder)
	return kind == "tmpfs" || kind == "ramfs"
}

// filesystem is the kind of file system that a folder is on.
func filesystem(folder string) string {
	text, _ := os.ReadFile("/proc/self/mounts")
	best, kind := "", "unknown"
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 2 && len(f[1]) >= len(best) && (f[1] == "/" || folder == f[1] || strings.HasPrefix(folder, f[1]+"/")) {
			best, kind = f[1], f[2]
		}
	}
	return kind
}
