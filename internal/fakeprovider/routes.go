package fakeprovider

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/generations", s.postGeneration)
	mux.HandleFunc("GET /v1/generations/{task}", func(w http.ResponseWriter, r *http.Request) {
		s.carryOut(w, r, s.book.status(r.PathValue("task")))
	})
	mux.HandleFunc("GET /v1/generations", s.getByKey)
	mux.HandleFunc("POST /v1/checks", s.postCheck)
	mux.HandleFunc("GET /v1/usage", s.getUsage)
	s.controlRoutes(mux)
	return mux
}

func (s *Server) postGeneration(w http.ResponseWriter, r *http.Request) {
	var g Generation
	key, sum, err := paid(w, r, &g)
	if err == nil {
		err = g.validate()
	}
	if err != nil {
		respond(w, invalid(err))
		return
	}
	s.carryOut(w, r, s.book.submit(key, g, sum))
}

func (s *Server) postCheck(w http.ResponseWriter, r *http.Request) {
	var c Check
	key, sum, err := paid(w, r, &c)
	if err == nil {
		err = c.validate()
	}
	if err != nil {
		respond(w, invalid(err))
		return
	}
	s.carryOut(w, r, s.book.check(key, sum))
}

func (s *Server) getByKey(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	if !validName(key) {
		respond(w, invalid(errors.New("key: want one, of 1 to 128 printable ASCII characters without space")))
		return
	}
	s.carryOut(w, r, s.book.lookup(key))
}

// carryOut waits where the plan says so, answers or cuts, and sends the callbacks after the answer.
func (s *Server) carryOut(w http.ResponseWriter, r *http.Request, p plan) {
	if p.gate != nil {
		g := p.gate
		select {
		case <-g.opened:
			p = g.plan
		case <-r.Context().Done():
			s.book.leave(g)
			p = plan{cut: true}
		}
	}
	if p.cut {
		panic(http.ErrAbortHandler) // the way of net/http to close a connection without an answer
	}
	respond(w, p)
	s.book.dispatchLater(p.ended)
}

func respond(w http.ResponseWriter, p plan) {
	w.Header().Set("Content-Type", "application/json")
	if p.replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	body := encode(p.body)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	_, _ = w.Write(body) // the sender may be gone
	_ = http.NewResponseController(w).Flush()
}

// encode passes garbage on as it is.
func encode(body any) []byte {
	if garbage, ok := body.(string); ok {
		return []byte(garbage)
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("a message of ours that is not JSON: %v", err))
	}
	return text
}

// paid reads the key and the body of a paid POST. The sum, of the content and not of its encoding, tells other work under the
// same key apart.
func paid(w http.ResponseWriter, r *http.Request, into any) (key string, sum [sha256.Size]byte, err error) {
	keys := r.Header.Values(idempotencyKey)
	if len(keys) != 1 || !validName(keys[0]) {
		return "", sum, fmt.Errorf("header %s: want one, of 1 to 128 printable ASCII characters without space", idempotencyKey)
	}
	if err := readJSON(w, r, into); err != nil {
		return "", sum, err
	}
	content, err := json.Marshal(into)
	return keys[0], sha256.Sum256(content), err
}

// readJSON reads the whole body, because only then does net/http notice that a sender has left.
func readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(5 * time.Second))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	_ = connection.SetReadDeadline(time.Time{})
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("body: want one JSON object and nothing behind it")
	}
	return nil
}

func (s *Server) getUsage(w http.ResponseWriter, r *http.Request) {
	charges := s.book.statement(r.URL.Query().Get("key"))
	format := r.URL.Query().Get("format")
	switch {
	case format == "csv" || format == "" && strings.HasPrefix(r.Header.Get("Accept"), "text/csv"):
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		_ = writeCSV(w, charges) // the reader may be gone
	case format == "" || format == "json":
		respond(w, plan{status: http.StatusOK, body: map[string][]Charge{"charges": charges}})
	default:
		respond(w, invalid(fmt.Errorf("format %q: want json or csv", format)))
	}
}

// writeCSV writes a statement with its heading. Costs are micros, as everywhere.
func writeCSV(w io.Writer, charges []Charge) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"request_key", "provider_task_id", "cost", "currency"}); err != nil {
		return err
	}
	for _, c := range charges {
		if err := out.Write([]string{c.RequestKey, c.TaskID, strconv.FormatInt(c.CostMicros, 10), c.Currency}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func invalid(err error) plan { return faulty(http.StatusBadRequest, "invalid_request", err.Error()) }
