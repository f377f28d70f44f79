package embedded

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// orphansStay tells whether a server outlives a program that was killed.
const orphansStay = false

// dieWithParent has the kernel send the signal to the child when the thread that forked it ends.
func dieWithParent(attr *syscall.SysProcAttr, last syscall.Signal) { attr.Pdeathsig = last }

// serves tells whether the process is a server that was started on the cluster: a number may have gone to another process.
func serves(pid int, data string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	for arg := range bytes.SplitSeq(line, []byte{0}) {
		if string(arg) == data {
			return true
		}
	}
	return false
}

// attached tells whether a process still uses the shared memory of a server: sessions of one that was killed take a moment to
// notice.
func attached(shm string) bool {
	table, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil || shm == "" {
		return false
	}
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 6 && f[1] == shm {
			return f[6] != "0"
		}
	}
	return false
}
