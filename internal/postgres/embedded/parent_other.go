//go:build unix && !linux

package embedded

import (
	"errors"
	"syscall"
)

// orphansStay tells whether a server may outlive a program that was killed: here it does when its watcher was killed as well.
const orphansStay = true

// dieWithParent does nothing here: the watcher stands in for the kernel.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// serves tells whether the process of a cluster's pid file lives. It cannot tell a server from a process that got its number since.
func serves(pid int, _ string) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// attached is unknown here; PostgreSQL itself refuses to start while it is so, and is tried again.
func attached(string) bool { return false }
