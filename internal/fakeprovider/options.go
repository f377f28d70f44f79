package fakeprovider

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// AmountMax is the highest cost, in micros, that a script can charge for one request.
const AmountMax = 1_000_000_000_000_000

// Options of a server. Zero means zero: start from [Defaults].
type Options struct {
	Addr              string        // a loopback address with port; port 0 takes a free one
	Currency          string        // of every charge, three capital letters
	GenerationCost    int64         // micros, where a script names no cost
	CheckCost         int64         // micros, where a script names no cost
	IdempotencyWindow time.Duration // how long a key names the same work, from its acceptance; 0 takes no idempotency keys
	CallbackTimeout   time.Duration // for one delivery
	RecordsMax        int           // keys, tasks and charges together; beyond it POSTs are answered 503
	Clock             Clock
}

// Defaults returns the options that `settlementd fakeprovider` starts from.
func Defaults() Options {
	return Options{
		Addr:              "127.0.0.1:0",
		Currency:          "USD",
		GenerationCost:    50_000,
		CheckCost:         1_000,
		IdempotencyWindow: 24 * time.Hour,
		CallbackTimeout:   5 * time.Second,
		RecordsMax:        200_000,
		Clock:             SystemClock{},
	}
}

func (o *Options) validate() error {
	switch {
	case !validCurrency(o.Currency):
		return fmt.Errorf("currency %q: want three capital letters", o.Currency)
	case !validAmount(o.GenerationCost) || !validAmount(o.CheckCost):
		return fmt.Errorf("costs %d and %d: want 0 to %d micros", o.GenerationCost, o.CheckCost, int64(AmountMax))
	case o.IdempotencyWindow < 0:
		return fmt.Errorf("idempotency window %v: want 0 or more", o.IdempotencyWindow)
	case o.CallbackTimeout <= 0:
		return fmt.Errorf("callback timeout %v: want more than 0", o.CallbackTimeout)
	case o.RecordsMax < 1:
		return fmt.Errorf("records max %d: want 1 or more", o.RecordsMax)
	case o.Clock == nil:
		return errors.New("clock: want one")
	}
	return validateLoopback(o.Addr)
}

// validateLoopback keeps a server whose controls ask nobody for a password on this machine.
func validateLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen %q: %w", addr, err)
	}
	if !isLoopback(host) {
		return fmt.Errorf("listen %q: want a loopback host, because anybody who reaches the server can control it", addr)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func validAmount(micros int64) bool { return micros >= 0 && micros <= AmountMax }

func validCurrency(currency string) bool {
	if len(currency) != 3 {
		return false
	}
	for _, c := range []byte(currency) {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}

// validName tells whether a key, a task id or a code is 1–128 printable ASCII characters without a space.
func validName(name string) bool {
	if name == "" || len(name) > 128 {
		return false
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
