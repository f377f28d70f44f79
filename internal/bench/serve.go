package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"

	"github.com/settlementd/settlementd/internal/app"
)

// Serve is the server of a run, in a process of its own. It says its address in its first line, then answers a line for each that it reads:
// to "usage" what it used so far, to "forget" that its peak of memory begins anew. It ends with its input.
func Serve(ctx context.Context, c app.Config, in io.Reader, out io.Writer) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		_ = answer(l.Addr().String(), in, out) // nobody is left to tell
	}()
	err = app.Run(serving, c, l)
	_ = l.Close() // by now, unless the service never served
	return err
}

func answer(address string, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, address); err != nil {
		return err
	}
	lines, to := bufio.NewScanner(in), json.NewEncoder(out)
	for lines.Scan() {
		if lines.Text() == "forget" {
			forgetPeakRSS()
		}
		if err := to.Encode(ownFootprint()); err != nil {
			return err
		}
	}
	return lines.Err()
}
