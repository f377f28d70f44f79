package embedded

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// initialize makes the cluster beside its place and renames it, so that a start that was cut off leaves no half of one.
func initialize(ctx context.Context, bin string, place layout, o Options, who *user) error {
	unfinished := place.data + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("embedded: remove an unfinished cluster: %w", err)
	}
	if err := makePrivate(unfinished, who); err != nil {
		return err
	}
	args := []string{"-D", unfinished, "-U", Superuser, "-A", "trust", "-E", "UTF8", "--locale=" + systemLocale(),
		"--no-instructions"}
	if o.FsyncOff {
		args = append(args, "--no-sync")
	}
	if o.ICULocale != "" {
		args = append(args, "--locale-provider=icu", "--icu-locale="+o.ICULocale)
	}
	cmd := place.command(bin, "initdb", args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	p, err := launch(cmd, who, syscall.SIGTERM)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		_ = p.end(syscall.SIGTERM)
		return fmt.Errorf("embedded: initdb: %w", ctx.Err())
	}
	if p.err != nil {
		return fmt.Errorf("embedded: initdb: %w\n%s", p.err, said.String())
	}
	if err := os.Rename(unfinished, place.data); err != nil {
		return fmt.Errorf("embedded: keep the new cluster: %w", err)
	}
	return nil
}

// systemLocale sorts by bytes and knows UTF-8, as far as the system has such a locale.
func systemLocale() string {
	if runtime.GOOS == "linux" || runtime.GOOS == "freebsd" {
		return "C.UTF-8"
	}
	return "C"
}
