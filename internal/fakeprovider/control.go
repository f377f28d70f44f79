package fakeprovider

import (
	"errors"
	"net/http"
)

func (s *Server) controlRoutes(mux *http.ServeMux) {
	mux.HandleFunc("PUT /control/generations", func(w http.ResponseWriter, r *http.Request) {
		var script GenerationScript
		s.script(w, r, &script, func(key string) error { return s.ScriptGeneration(key, script) })
	})
	mux.HandleFunc("PUT /control/checks", func(w http.ResponseWriter, r *http.Request) {
		var script CheckScript
		s.script(w, r, &script, func(key string) error { return s.ScriptCheck(key, script) })
	})
	mux.HandleFunc("POST /control/release", func(w http.ResponseWriter, r *http.Request) {
		control(w, map[string]int{"released": s.Release(r.URL.Query().Get("key"))}, nil)
	})
	mux.HandleFunc("POST /control/finish", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		control(w, struct{}{}, s.Finish(q.Get("key"), TaskStatus(q.Get("status"))))
	})
	mux.HandleFunc("POST /control/callback", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		status, err := s.SendCallback(r.Context(), q.Get("key"), TaskStatus(q.Get("status")))
		control(w, map[string]int{"http_status": status}, err)
	})
	mux.HandleFunc("GET /control/counters", func(w http.ResponseWriter, r *http.Request) {
		counts, _ := s.book.counts(r.URL.Query().Get("key"))
		control(w, counts, nil)
	})
	mux.HandleFunc("POST /control/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		control(w, struct{}{}, nil)
	})
}

func (s *Server) script(w http.ResponseWriter, r *http.Request, into any, set func(key string) error) {
	if err := readJSON(w, r, into); err != nil {
		respond(w, invalid(err))
		return
	}
	control(w, struct{}{}, set(r.URL.Query().Get("key")))
}

func control(w http.ResponseWriter, body any, err error) {
	switch {
	case err == nil:
		respond(w, plan{status: http.StatusOK, body: body})
	case errors.Is(err, ErrInvalid):
		respond(w, invalid(err))
	case errors.Is(err, ErrUnknown):
		respond(w, faulty(http.StatusNotFound, "unknown", err.Error()))
	case errors.Is(err, ErrConflict):
		respond(w, faulty(http.StatusConflict, "conflict", err.Error()))
	default:
		respond(w, faulty(http.StatusBadGateway, "callback_failed", err.Error()))
	}
}
