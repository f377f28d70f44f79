package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// newFile is a file in the making. Until it is kept, what stands under its name stays as it is.
type newFile struct {
	*os.File
	name string // where it goes; empty: nowhere else, it is written where it is
}

// makeFile opens a file in the making, or tells why nothing can be written under the name.
func makeFile(name string) (*newFile, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	const everybody = 0o666
	mode := os.FileMode(everybody)
	info, err := os.Stat(name)
	switch {
	case err == nil && info.Mode().IsRegular():
		mode = info.Mode().Perm()
	case err == nil: // a terminal or a pipe, which nothing may take the place of, or a folder, which is refused here
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &newFile{File: f}, err
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	if err == nil { // a file that is closed to us is not to be replaced either
		old, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		_ = old.Close() // nothing was written
	}
	f, err := os.OpenFile(fmt.Sprintf("%s.%d.part", name, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return &newFile{f, name}, nil
}

// keep closes the file and puts it in its place.
func (f *newFile) keep() error {
	if err := f.Close(); err != nil || f.name == "" {
		return err
	}
	return os.Rename(f.Name(), f.name)
}

// drop removes what was not kept.
func (f *newFile) drop() {
	_ = f.Close() // a file that was kept is closed
	if f.name != "" {
		_ = os.Remove(f.Name())
	}
}
