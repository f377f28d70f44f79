package command

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/reconcile/command/manifestfile"
)

// ManifestFile names a file with a manifest and, where that is one of targets only, what it leaves out.
type ManifestFile struct {
	Name string
	manifestfile.Head
}

// Read reads the file. What is wrong with it is a usage error.
func (f *ManifestFile) Read() (*settlementv1.Manifest, error) {
	file, err := os.Open(f.Name)
	if err != nil {
		return nil, &UsageError{err}
	}
	defer func() { _ = file.Close() }() // read only
	m, err := manifestfile.Read(file, f.Head)
	if err != nil {
		return nil, usage("%s: %w", f.Name, err)
	}
	return m, nil
}

// Plan asks what a job would do, and saves the manifest that the server proposes where a file is named for it.
func (s *Session) Plan(ctx context.Context, req *settlementv1.PlanJobRequest, saveAs string) error {
	req.TenantId = s.Tenant
	plan, err := call(ctx, settlementv1.NewReconciliationJobServiceClient(s.Conn).PlanJob, req)
	if err != nil {
		return err
	}
	if saveAs != "" {
		if err := s.save(plan, saveAs); err != nil {
			return err
		}
	}
	if s.Output == JSON {
		return writeJSON(s.Out, plan)
	}
	return s.show(plannedTable(plan), leftOutTable(plan.GetLeftOut()), planFacts(plan))
}

// save writes the proposed manifest. A file that is there already is somebody's, and stays.
func (s *Session) save(plan *settlementv1.PlanJobResponse, name string) error {
	if len(plan.GetManifest().GetTargets()) == 0 {
		s.note("nothing was found, so there is no manifest to save")
		return nil
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("save the manifest: %w", err)
	}
	err = manifestfile.Write(file, plan.GetManifest())
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("save the manifest: %w", err)
	}
	s.note("the manifest is saved as %s", name)
	return nil
}

func plannedTable(plan *settlementv1.PlanJobResponse) string {
	if len(plan.GetTargets()) == 0 {
		return "no reservation fits"
	}
	t := newTable("", "reservation", "revision", "takes back", "account", "provider", "state", "deadline", "why")
	right(t, 3)
	for _, p := range plan.GetTargets() {
		mark, why := good("✓"), p.GetReason()
		if len(p.GetDifferences()) > 0 {
			mark, why = bad("✗"), differences(p.GetDifferences())
		}
		target := p.GetTarget()
		t.AppendRow(table.Row{
			mark, target.GetReservationId(), target.GetRevision(), taken(target.GetTakenUnit(), target.GetTaken()), p.GetAccountId(), p.GetProviderId(),
			wordOf(p.GetState()), moment(p.GetDeadline()), why,
		})
	}
	return t.Render()
}

func leftOutTable(left []*settlementv1.LeftOut) string {
	if len(left) == 0 {
		return ""
	}
	t := newTable("left out", "deadline", "why")
	for _, l := range left {
		t.AppendRow(table.Row{l.GetReservationId(), moment(l.GetDeadline()), differences(l.GetDifferences())})
	}
	return t.Render()
}

// differences are those that keep an action from fitting, in words.
func differences(ds []*settlementv1.Difference) string {
	var texts []string
	for _, d := range ds {
		text := wordOf(d.GetWhat())
		if d.GetExpected() != "" || d.GetFound() != "" {
			text += fmt.Sprintf(": want %s, found %s", d.GetExpected(), d.GetFound())
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

func planFacts(plan *settlementv1.PlanJobResponse) string {
	m, totals := plan.GetManifest(), plan.GetTotals()
	pairs := []string{
		"job", m.GetJobId(), "action", wordOf(m.GetAction()),
		"targets", fmt.Sprintf("%d, %s in chunks of %d", totals.GetTargets(), counted(int64(totals.GetChunks()), "call"), m.GetChunkSize()),
		"goes back", counted(totals.GetCredits(), "credit") + ", " + counted(totals.GetFreeAttempts(), "free attempt"),
	}
	if n := totals.GetMismatches(); n > 0 {
		pairs = append(pairs, "does not fit", bad(counted(int64(n), "target")))
	}
	if plan.GetMore() {
		pairs = append(pairs, "more", soso("the search stopped at its largest number of targets"))
	}
	return facts(append(pairs, "hash", plan.GetManifestHash())...)
}
