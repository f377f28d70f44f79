package main

import (
	"testing"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

const usage = "date,request_key,provider_task_id,cost,currency\r\n" +
	"2031-05-20,known,,0.000120,USD\r\n" +
	"2031-05-20,,task-1,1.5,USD\r\n" +
	"2031-05-20,other,,0.000130,USD\r\n" +
	"2031-05-20,nobody's,,9,USD\r\n" +
	"2031-05-20,known,,0.00012,USD\r\n" +
	"2031-05-20,foreign,,1,EUR\r\n" +
	"2031-05-20,\"known,,1,USD\r\n" +
	"Total,,,12.50,USD\r\n"

// TestReconcileAStatementAndItsExceptions follows an operator from a provider's export to the last of the exceptions it left.
func TestReconcileAStatementAndItsExceptions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.completed("known", 120)
	d.completed("other", 100)
	d.completed("foreign", 100)
	d.completed("unlisted", 77)
	d.Granted(t, "r-open", "open", func(r *settlementv1.ReserveRequest) { r.Funding = credits(1) })
	d.Report(t, "r-open", "open", apptest.Accepted("task-1"))
	d.file("usage May.csv", "\ufeff"+usage)

	period := []string{"--period-start=2031-05-01", "--period-end=2031-06-01T00:00:00Z"}
	imported := append([]string{"import", "--provider=studio", "--file=FILE:usage May.csv"}, period...)
	d.said("import", statusBadLines, imported...)
	before := d.Copy(t)
	d.said("import_again", statusBadLines, imported...)
	d.said("import_json", statusBadLines, append([]string{"--output=json"}, imported...)...)
	d.Unchanged(t, before)
	d.file("plain.txt", "request_key\tcost_micros\tcurrency\nknown\t120\tUSD\n")
	d.said("import_named", 0, "import", "--provider=studio", "--file=FILE:plain.txt", "--statement=may-2")
	d.file("plain.txt", "request_key\tcost_micros\tcurrency\nknown\t121\tUSD\n")
	d.said("import_other_content", 1, "import", "--provider=studio", "--file=FILE:plain.txt", "--statement=may-2")
	d.file("german.csv", "request_key;cost;currency\nknown;0,00012;USD\n")
	d.said("import_comma", statusBadLines, "import", "--provider=studio", "--file=FILE:german.csv")
	d.said("import_decimal_comma", 0, "import", "--provider=studio", "--file=FILE:german.csv", "--decimal-comma")
	d.said("import_no_provider", 1, "import", "--provider=nobody", "--file=FILE:german.csv")

	d.said("exceptions", 0, "exceptions")
	d.said("exceptions_json", 0, "exceptions", "list", "--reservation=r-other", "--reason=COST_CONFLICT", "--output=json")
	conflict, currency := d.exception("r-other"), d.exception("r-foreign")
	d.said("resolve_apply", 0, "exceptions", "resolve", conflict, "--apply=by the invoice")
	d.said("resolve_again", 0, "exceptions", "resolve", conflict, "--apply=once more")
	d.said("resolve_otherwise", 1, "exceptions", "resolve", conflict, "--dismiss=never mind")
	d.said("resolve_nothing_to_apply", 1, "exceptions", "resolve", currency, "--apply=by the invoice")
	d.said("resolve_dismiss_json", 0, "exceptions", "resolve", currency, "--dismiss=a typing error of theirs", "--output=json")
	d.said("exceptions_none", 0, "exceptions", "list")
	d.said("exceptions_all", 0, "exceptions", "list", "--all")
	d.said("resolve_unknown", 1, "exceptions", "resolve", "x0", "--dismiss=y")
	d.Verify(t)
}

// exception is the one that a reservation has.
func (d *desk) exception(reservation string) string {
	d.t.Helper()
	resp, err := d.Reconciliation.ListExceptions(d.t.Context(), &settlementv1.ListExceptionsRequest{TenantId: apptest.Tenant, ReservationId: &reservation})
	if err != nil || len(resp.GetExceptions()) != 1 {
		d.t.Fatalf("exceptions of %s: %v, %v", reservation, resp, err)
	}
	return resp.GetExceptions()[0].GetExceptionId()
}
