package main

import (
	"context"
	"os"

	"github.com/settlementd/settlementd/internal/reconcile/command"
	"github.com/settlementd/settlementd/internal/reconcile/command/manifestfile"
)

// reconcileCmd are the commands that talk to a running server about reconciliation.
type reconcileCmd struct {
	Server string `env:"SETTLEMENTD_SERVER" default:"127.0.0.1:7420" help:"Address of the server." placeholder:"HOST:PORT"`
	Tenant string `env:"SETTLEMENTD_TENANT" required:"" help:"The tenant." placeholder:"ID"`
	Output string `enum:"table,json" default:"table" help:"How to print answers (table, json)."`

	Plan       planCmd       `cmd:"" help:"Show what a job would do: find reservations and propose a manifest, or try a given one. Changes nothing."`
	Register   registerCmd   `cmd:"" help:"Store a manifest as a job."`
	Approve    approveCmd    `cmd:"" help:"Let a job run whose manifest has a hash."`
	Run        runCmd        `cmd:"" help:"Run one chunk of an approved job."`
	Drain      drainCmd      `cmd:"" help:"Run chunks of an approved job until it is done."`
	Report     reportCmd     `cmd:"" help:"Compare what a job did with what its reservations are now."`
	Jobs       jobsCmd       `cmd:"" help:"List jobs, the oldest first, and how far each has come."`
	Import     importCmd     `cmd:"" help:"Hold a provider's usage export against the journal, and make its costs known. The same file again goes on where it stopped. Exit status 3 when lines are bad."`
	Exceptions exceptionsCmd `cmd:"" help:"List and resolve the facts that could not be applied."`
}

// with connects to the server for as long as use runs.
func (r *reconcileCmd) with(ctx context.Context, use func(*command.Session) error) error {
	conn, err := command.Connect(ctx, r.Server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	err = use(&command.Session{
		Conn: conn, Tenant: r.Tenant, Output: command.Output(r.Output), Out: os.Stdout, Notes: os.Stderr, Live: isTerminal(os.Stderr),
	})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// jobFlags are what a file of targets leaves out, and what a search for reservations is told.
type jobFlags struct {
	JobID        string `help:"The job: 1 to 64 of A-Z a-z 0-9 _ -." placeholder:"ID"`
	Action       string `enum:"CANCEL,RELEASE_CUSTOMER," default:"" help:"What to do with each reservation (CANCEL, RELEASE_CUSTOMER)." placeholder:"ACTION"`
	ChunkSize    int32  `help:"Reservations that are changed in one transaction." placeholder:"N"`
	AllowPartial bool   `help:"Say that chunks which were committed stay, whatever becomes of the later ones. Jobs demand it."`
}

func (f *jobFlags) manifest(file string) command.ManifestFile {
	return command.ManifestFile{Name: file, Head: manifestfile.Head{
		JobID: f.JobID, Action: f.Action, ChunkSize: f.ChunkSize, AllowPartial: f.AllowPartial,
	}}
}
