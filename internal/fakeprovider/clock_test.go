package fakeprovider_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	fake "github.com/settlementd/settlementd/internal/fakeprovider"
)

func TestAManualClockCallsInOrder(t *testing.T) {
	c := fake.NewManualClock(time.Unix(0, 0))
	var called []string
	note := func(name string) func() { return func() { called = append(called, name) } }
	c.AfterFunc(3*time.Second, note("third"))
	c.AfterFunc(time.Second, func() {
		note("first")()
		c.AfterFunc(time.Second, note("from first"))
	})
	stop := c.AfterFunc(time.Second, note("stopped"))
	c.AfterFunc(2*time.Second, note("second"))
	stop()
	stop()
	c.Advance(2 * time.Second)
	c.Advance(time.Second)
	if diff := cmp.Diff([]string{"first", "second", "third", "from first"}, called); diff != "" {
		t.Errorf("called (-want +got):\n%s", diff)
	}
	if now := c.Now(); !now.Equal(time.Unix(3, 0)) {
		t.Errorf("shows %v", now)
	}
}

func TestTheSystemClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c fake.SystemClock
		began, called := c.Now(), make(chan time.Time, 2)
		c.AfterFunc(time.Minute, func() { called <- c.Now() })
		stop := c.AfterFunc(time.Second, func() { t.Error("was called though stopped") })
		stop()
		if at := <-called; at.Sub(began) != time.Minute {
			t.Errorf("called after %v", at.Sub(began))
		}
	})
}
