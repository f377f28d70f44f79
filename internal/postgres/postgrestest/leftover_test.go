package postgrestest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// childEnv makes the test binary a test run that is killed, or ends, in the middle.
const childEnv = "SETTLEMENTD_TEST_POSTGRESTEST_CHILD"

func TestChild(t *testing.T) {
	if os.Getenv(childEnv) == "" {
		return
	}
	New(t)
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("server:", c.server.PID(), filepath.Dir(c.server.LogFile()))
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

func TestNothingIsLeftOfATestRun(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*exec.Cmd, *bufio.Writer){
		"ended":  func(_ *exec.Cmd, in *bufio.Writer) { _, _ = in.WriteString("\n"); _ = in.Flush() },
		"killed": func(cmd *exec.Cmd, _ *bufio.Writer) { _ = cmd.Process.Signal(syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
			cmd.Env = append(os.Environ(), childEnv+"=1")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Fields(line)
			if len(words) != 3 || words[0] != "server:" {
				t.Fatalf("the child says %q", line)
			}
			pid, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, 0); err != nil {
				t.Fatalf("the server does not run: %v", err)
			}
			end(cmd, bufio.NewWriter(in))
			_ = cmd.Wait()
			Until(t, "the folder is gone", func() bool { _, err := os.Stat(words[2]); return os.IsNotExist(err) })
		})
	}
}

func TestICUClustersCollateByLanguage(t *testing.T) {
	t.Parallel()
	db := New(t)
	byBytes := Value[bool](db, "SELECT 'B' < 'a'")
	if icu := os.Getenv(icuEnv) == "1"; byBytes == icu {
		t.Errorf("%s=%q, and bytes decide the order: %v", icuEnv, os.Getenv(icuEnv), byBytes)
	}
}
