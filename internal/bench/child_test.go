package bench

import (
	"io"
	"strings"
	"testing"
	"time"
)

// TestAServerThatSaysNothingIsEnded asks one for its usage that has said where it is, and nothing after that.
func TestAServerThatSaysNothingIsEnded(t *testing.T) {
	t.Parallel()
	c, err := startChild([]string{"sh", "-c", "echo 127.0.0.1:1; exec tail -f /dev/null"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c.patience = 100 * time.Millisecond
	if _, err := c.usage(false); err == nil || !strings.Contains(err.Error(), "does not say what it used") {
		t.Errorf("told %v", err)
	}
	if err := c.stop(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("it ended with %v", err)
	}
}
