package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/fakeprovider"
)

// inbox receives the provider's callbacks for one job.
type inbox struct {
	server *http.Server
	served chan struct{}
	got    chan fakeprovider.Observation
}

// listening opens an address for callbacks, which the job's attempts then name.
func listening(ctx context.Context, j *job) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for callbacks: %w", err)
	}
	in := &inbox{served: make(chan struct{}), got: make(chan fakeprovider.Observation, 8)}
	in.server = &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o, err := fakeprovider.ReadCallback(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		in.got <- o
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() {
		defer close(in.served)
		_ = in.server.Serve(l) // ends with ErrServerClosed
	}()
	j.inbox, j.callbackURL = in, "http://"+l.Addr().String()+"/"
	return nil
}

func (in *inbox) close() {
	_ = in.server.Close()
	<-in.served
}

// raced has the provider end an attempt with a failure, and two workers settle it in the same moment: one was called back, the other polled.
func raced(label string) step {
	return func(ctx context.Context, j *job) error {
		key := j.key(label)
		if err := j.stage.config.Provider.Finish(key, fakeprovider.TaskFailed); err != nil {
			return err
		}
		select {
		case seen := <-j.inbox.got:
			if seen.Fact != fakeprovider.Failed {
				return fmt.Errorf("callback of %s: %s, want FAILED", key, seen.Fact)
			}
		case <-ctx.Done():
			return fmt.Errorf("waited for the callback: %w", ctx.Err())
		}
		if err := ended(label, fakeprovider.Failed)(ctx, j); err != nil {
			return err
		}
		return j.settleTogether(ctx, providerFailed(label),
			settlementv1.Observer_OBSERVER_CALLBACK, settlementv1.Observer_OBSERVER_POLL)
	}
}

// settleTogether sends one outcome from several observers at once: one of them moves something.
func (j *job) settleTogether(ctx context.Context, o outcome, observers ...settlementv1.Observer) error {
	type answer struct {
		disposition settlementv1.Disposition
		err         error
	}
	ready, answers := make(chan struct{}), make(chan answer, len(observers))
	for _, by := range observers {
		go func() {
			<-ready
			a, err := j.settle(ctx, o, by)
			answers <- answer{a.GetDisposition(), err}
		}()
	}
	close(ready)
	var got []settlementv1.Disposition
	var failed error
	for range observers {
		a := <-answers
		got, failed = append(got, a.disposition), errors.Join(failed, a.err)
	}
	if failed != nil {
		return failed
	}
	slices.Sort(got)
	if want := []settlementv1.Disposition{applied, replayed}; !slices.Equal(got, want) {
		return fmt.Errorf("settled together: %v, want %v", got, want)
	}
	return nil
}
