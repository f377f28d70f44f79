package bench

import "context"

// grow adds reservations that have ended until there are as many as wanted.
func (d *database) grow(context.Context, int64, ids) error { return nil }
