package rpc

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	probeEvery   = time.Second
	probeTimeout = 2 * time.Second
)

// Probe tells whether the server could carry out a call that writes.
type Probe func(context.Context) error

// readiness answers the standard health service: serving while the database can be written to, by name of each service and in all ("").
type readiness struct {
	server   *health.Server
	services []string
	ready    Probe
	log      *slog.Logger
}

func newReadiness(s *grpc.Server, ready Probe, log *slog.Logger) *readiness {
	h := &readiness{server: health.NewServer(), ready: ready, log: log, services: []string{""}}
	for name := range s.GetServiceInfo() {
		h.services = append(h.services, name)
	}
	h.set(healthpb.HealthCheckResponse_NOT_SERVING)
	healthpb.RegisterHealthServer(s, h.server)
	return h
}

// watch asks the probe until ctx ends.
func (h *readiness) watch(ctx context.Context) {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	var last error
	for first := true; ; first = false {
		probe, cancel := context.WithTimeout(ctx, probeTimeout)
		err := h.ready(probe)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if first || (err == nil) != (last == nil) {
			h.tell(err)
		}
		last = err
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (h *readiness) tell(err error) {
	if err != nil {
		h.log.Error("not serving: the database cannot be written to", "error", err)
		h.set(healthpb.HealthCheckResponse_NOT_SERVING)
		return
	}
	h.log.Info("serving")
	h.set(healthpb.HealthCheckResponse_SERVING)
}

func (h *readiness) set(s healthpb.HealthCheckResponse_ServingStatus) {
	for _, name := range h.services {
		h.server.SetServingStatus(name, s)
	}
}

// shutdown says NOT_SERVING for good.
func (h *readiness) shutdown() { h.server.Shutdown() }
