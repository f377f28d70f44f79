package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of CPU time in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// familyTime is the CPU time of a process and its children, of those that have ended too. A process that ends meanwhile may be missed.
func familyTime(pid int) time.Duration {
	var total time.Duration
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, file := range all {
		f := stat(file)
		if len(f) < 15 {
			continue
		}
		switch {
		case f[0] == strconv.Itoa(pid):
			total += ticks(f[11], f[12], f[13], f[14])
		case f[2] == strconv.Itoa(pid):
			total += ticks(f[11], f[12])
		}
	}
	return total
}

// stat returns the fields of a process: its number, then those behind its name: state, parent, and so on.
func stat(file string) []string {
	line, err := os.ReadFile(file)
	name, behind := bytes.IndexByte(line, ' '), bytes.LastIndexByte(line, ')')
	if err != nil || name < 0 || behind < 0 {
		return nil
	}
	return append([]string{string(line[:name])}, strings.Fields(string(line[behind+1:]))...)
}

func ticks(fields ...string) time.Duration {
	var total time.Duration
	for _, f := range fields {
		n, _ := strconv.ParseInt(f, 10, 64) // the kernel writes numbers
		total += time.Duration(n) * tick
	}
	return total
}

// peakRSS is the most memory that this process had since forgetPeakRSS, in bytes.
func peakRSS() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// forgetPeakRSS begins anew with what this process has now.
func forgetPeakRSS() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) } // where it is forbidden, the peak is that of the whole run

// dieWithParent has the kernel kill the child when the thread that forked it ends.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
