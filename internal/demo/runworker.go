package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// Halt is where a worker stops and waits to be told to go on.
type Halt string

// The points. A worker says the word when it is there.
const (
	HaltPermitted Halt = "permitted" // it holds a permit and has not sent its POST
	HaltPosted    Halt = "posted"    // the provider has answered and nobody else knows
)

// saidTooLate is what a worker says that found its permit over.
const saidTooLate = "the permit is over: not sent"

// WorkerOptions are the flags of a worker in a process of its own.
type WorkerOptions struct {
	Service     string `required:"" help:"Address of the service."`
	Provider    string `required:"" help:"URL of the fake provider."`
	Reservation string `required:"" help:"The job."`
	Key         string `required:"" help:"The request key of the attempt."`
	Halt        Halt   `required:"" enum:"permitted,posted" help:"Where to stop and wait for a line on standard input."`
}

func (o WorkerOptions) arguments() []string {
	return []string{
		"--service=" + o.Service, "--provider=" + o.Provider, "--reservation=" + o.Reservation, "--key=" + o.Key, "--halt=" + string(o.Halt),
	}
}

// RunWorker takes a permit, sends the POST and reports, as a worker does. It stops at one point until it reads a line, and ends when there
// is nobody left to write one.
func RunWorker(ctx context.Context, o WorkerOptions, in io.Reader, out io.Writer) error {
	c, err := dial(o.Service)
	if err != nil {
		return err
	}
	defer func() { _ = c.conn.Close() }()
	provider, err := fakeprovider.NewClient(o.Provider, answerTimeout)
	if err != nil {
		return err
	}
	defer provider.Close()
	w := worker{clients: c, provider: provider, reservation: o.Reservation}
	halt := func(at Halt) error {
		if at != o.Halt {
			return nil
		}
		if _, err := fmt.Fprintln(out, at); err != nil {
			return err
		}
		_, err := bufio.NewReader(in).ReadString('\n')
		return err
	}

	p, err := w.beginGeneration(ctx, o.Key)
	if err != nil {
		return err
	}
	if err := halt(HaltPermitted); err != nil {
		return err
	}
	s, err := w.post(ctx, p)
	if errors.Is(err, errPermitOver) {
		_, err = fmt.Fprintln(out, saidTooLate)
		return err
	}
	if err != nil {
		return err
	}
	if err := halt(HaltPosted); err != nil {
		return err
	}
	return w.reportPost(ctx, p, s)
}
