package bench

import (
	"runtime/metrics"
	"syscall"
	"time"
)

// footprint is what a process says of itself.
type footprint struct {
	CPU            time.Duration `json:"cpu"`
	Allocations    int64         `json:"allocations"`
	AllocatedBytes int64         `json:"allocated_bytes"`
	PeakRSS        int64         `json:"peak_rss"`
}

// ownFootprint is that of this process.
func ownFootprint() footprint {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return footprint{
		CPU:            ownTime(),
		Allocations:    int64(samples[0].Value.Uint64() + samples[1].Value.Uint64()),
		AllocatedBytes: int64(samples[2].Value.Uint64()),
		PeakRSS:        peakRSS(),
	}
}

// ownTime is the CPU time of this process, the kernel's for it included.
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
