package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/reconcile/command/usagefile"
)

// Statement is a provider's usage export, ready to be imported.
type Statement struct {
	Provider string
	ID       string // of the statement; empty: made from the file's name and content
	Start    time.Time
	End      time.Time // both zero: no period
	usagefile.Options

	file    *os.File
	lines   *usagefile.Reader
	total   int64 // the lines of the file
	derived bool  // the id is made from the content, so what was taken under it was taken of this file
}

// pageLines is how many lines travel in one message.
const pageLines = 500

// Open opens the export and reads its header. What is wrong with them is a usage error. The caller closes the statement.
func (st *Statement) Open(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return &UsageError{err}
	}
	st.file = file
	if err := st.identify(name); err != nil {
		st.Close()
		return err
	}
	if st.lines, err = usagefile.Open(file, st.Options); err != nil {
		st.Close()
		return usage("%s: %w", name, err)
	}
	return nil
}

// Close closes the export.
func (st *Statement) Close() { _ = st.file.Close() } // read only

// identify reads the file once: for the number of its lines, and for an id if none is given. The same content read in the same way has the
// same id, so the same file twice is the same statement.
func (st *Statement) identify(name string) error {
	h := sha256.New()
	lines := &lineCounter{}
	if _, err := io.Copy(io.MultiWriter(h, lines), st.file); err != nil {
		return err
	}
	if _, err := st.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	st.total = lines.count
	if st.ID == "" {
		fmt.Fprintf(h, "%c %t", st.Delimiter, st.DecimalComma)
		st.ID, st.derived = readable(filepath.Base(name))+"-"+hex.EncodeToString(h.Sum(nil)[:8]), true
	}
	return nil
}

// readable makes a part of an id out of a file's name.
func readable(name string) string {
	const most = 100
	name = strings.Map(func(r rune) rune {
		if r < '!' || r > '~' {
			return '_'
		}
		return r
	}, name)
	return name[:min(len(name), most)]
}

// lineCounter counts the lines that are written to it; the last one needs no line break.
type lineCounter struct {
	count int64
	begun bool
}

// Write counts.
func (c *lineCounter) Write(p []byte) (int, error) {
	for _, b := range p {
		if !c.begun {
			c.count++
		}
		c.begun = b != '\n'
	}
	return len(p), nil
}

// BadLinesError tells that a statement was imported, but for some lines of which no sense could be made.
type BadLinesError struct{ Bad, Lines int64 }

// Error counts them.
func (e *BadLinesError) Error() string {
	return fmt.Sprintf("%d of %s could not be used, each listed as BAD with its reason; the others are imported", e.Bad, counted(e.Lines, "line"))
}

// Import sends a statement's lines, and shows what became of them. Bad lines are an error once all others are imported.
func (s *Session) Import(ctx context.Context, st *Statement) error {
	client := settlementv1.NewStatementServiceClient(s.Conn)
	checkpoint, err := s.checkpoint(ctx, client, st)
	if err != nil {
		return err
	}
	resp, err := s.send(ctx, client, st, checkpoint)
	if err != nil {
		if passes(err) {
			s.tellCheckpoint(client, st)
		}
		return err
	}
	if err := s.showStatement(ctx, client, resp); err != nil {
		return err
	}
	if taken := resp.GetStatement(); taken.GetBad() > 0 {
		return &BadLinesError{taken.GetBad(), taken.GetLines()}
	}
	return nil
}

// checkpoint is up to which line the server has taken the statement.
func (s *Session) checkpoint(ctx context.Context, client settlementv1.StatementServiceClient, st *Statement) (int64, error) {
	stands, err := call(ctx, client.GetStatement, &settlementv1.GetStatementRequest{TenantId: s.Tenant, ProviderId: st.Provider, StatementId: st.ID})
	if failedWith(err, "NOT_FOUND") {
		return 0, nil
	}
	return stands.GetStatement().GetLinesThrough(), err
}

// tellCheckpoint says where the next import goes on, if the server still answers.
func (s *Session) tellCheckpoint(client settlementv1.StatementServiceClient, st *Statement) {
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	if through, err := s.checkpoint(ctx, client, st); err == nil {
		s.note("lines up to %d of statement %s are taken; the same command goes on from there", through, st.ID)
	}
}

// send sends what is not taken yet. Under an id that somebody has chosen it sends everything, so that the server compares what it has taken.
func (s *Session) send(
	ctx context.Context, client settlementv1.StatementServiceClient, st *Statement, checkpoint int64,
) (*settlementv1.ImportStatementResponse, error) {
	ctx, cancel := context.WithCancel(ctx) // also ends the stream when reading the file fails
	defer cancel()
	stream, err := client.ImportStatement(ctx)
	if err != nil {
		return nil, explain(err)
	}
	defer s.watch(ctx, client, st, checkpoint)()
	if !st.derived {
		checkpoint = 0
	}
	err = stream.Send(&settlementv1.ImportStatementRequest{Message: &settlementv1.ImportStatementRequest_Header{Header: st.header(s.Tenant)}})
	for err == nil {
		var page *settlementv1.StatementPage
		if page, err = st.page(checkpoint); err == nil {
			err = stream.Send(&settlementv1.ImportStatementRequest{Message: &settlementv1.ImportStatementRequest_Page{Page: page}})
			if errors.Is(err, io.EOF) { // the server has answered before the end: the answer tells why
				break
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, explain(err)
	}
	resp, err := stream.CloseAndRecv()
	return resp, explain(err)
}

func (st *Statement) header(tenant string) *settlementv1.StatementHeader {
	h := &settlementv1.StatementHeader{TenantId: tenant, ProviderId: st.Provider, StatementId: st.ID}
	if !st.Start.IsZero() {
		h.PeriodStart = timestamppb.New(st.Start)
	}
	if !st.End.IsZero() {
		h.PeriodEnd = timestamppb.New(st.End)
	}
	return h
}

// page reads the next lines behind the checkpoint, or io.EOF if there are none.
func (st *Statement) page(checkpoint int64) (*settlementv1.StatementPage, error) {
	page := &settlementv1.StatementPage{}
	for len(page.Lines) < pageLines {
		line, err := st.lines.Next()
		if errors.Is(err, io.EOF) && len(page.GetLines()) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		if line.GetLineNumber() > checkpoint {
			page.Lines = append(page.Lines, line)
		}
	}
	return page, nil
}

// watch shows how far the server has come, which is behind what was sent. It returns what ends it.
func (s *Session) watch(ctx context.Context, client settlementv1.StatementServiceClient, st *Statement, checkpoint int64) (end func()) {
	const every = 200 * time.Millisecond
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	p := s.progress(st.ID, "lines taken", st.total)
	p.at(checkpoint)
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for ctx.Err() == nil {
			if through, err := s.checkpoint(ctx, client, st); err == nil {
				p.at(through)
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		if through, err := s.checkpoint(context.WithoutCancel(ctx), client, st); err == nil {
			p.at(through)
		}
		p.end()
	}
}
