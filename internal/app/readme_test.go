package app_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	settlementv1 "github.com/settlementd/settlementd/gen/settlement/v1"
	"github.com/settlementd/settlementd/internal/app/apptest"
)

var (
	readmeCall  = regexp.MustCompile(`(?s)\ncall -d '([^']*)'\s*\\?\s*127\.0\.0\.1:7420 (settlement\.v1\.\w+)/(\w+)`)
	exceptionID = regexp.MustCompile(`x[0-9a-f]{32}`)
)

// TestREADMECallsWork makes the README's calls in their order, and finds one of each RPC that is not a stream among them.
func TestREADMECallsWork(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := apptest.New(t)
	setUpDemoTenant(t, s)
	called := map[string]bool{}
	exception := ""
	for _, m := range readmeCall.FindAllStringSubmatch(string(text), -1) {
		body := strings.ReplaceAll(m[1], `"EXCEPTION"`, `"`+exception+`"`)
		answer := invoke(t, s, m[2], m[3], body)
		called[m[3]] = true
		if id := exceptionID.FindString(answer); id != "" {
			exception = id
		}
	}
	for _, service := range []string{"ReservationService", "SettlementService", "ReconciliationService", "AccountService"} {
		methods := descriptor(t, protoreflect.FullName("settlement.v1."+service)).Methods()
		for i := range methods.Len() {
			if name := string(methods.Get(i).Name()); !called[name] {
				t.Errorf("the README makes no call of %s", name)
			}
		}
	}
	s.VerifyTenant(t, "demo")
	s.VerifyTenant(t, "acme")
}

func descriptor(t *testing.T, service protoreflect.FullName) protoreflect.ServiceDescriptor {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(service)
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.ServiceDescriptor)
}

func invoke(t *testing.T, s *apptest.Service, service, method, body string) string {
	t.Helper()
	d := descriptor(t, protoreflect.FullName(service)).Methods().ByName(protoreflect.Name(method))
	if d == nil {
		t.Fatalf("%s has no %s", service, method)
	}
	request, response := message(t, d.Input()), message(t, d.Output())
	if err := protojson.Unmarshal([]byte(body), request); err != nil {
		t.Fatalf("%s: %v\n%s", method, err, body)
	}
	if err := s.Conn.Invoke(t.Context(), "/"+service+"/"+method, request, response); err != nil {
		t.Fatalf("%s: %v\n%s", method, err, body)
	}
	answer, err := json.Marshal(json.RawMessage(protojson.Format(response)))
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func message(t *testing.T, d protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return kind.New().Interface()
}

// setUpDemoTenant makes what the development server makes at its first start.
func setUpDemoTenant(t *testing.T, s *apptest.Service) {
	t.Helper()
	for _, call := range []struct{ method, body string }{
		{"PutTenant", `{"tenant_id":"demo"}`},
		{"PutAccount", `{"tenant_id":"demo","account_id":"alice","slot_limit":10}`},
		{"PutProvider", `{"tenant_id":"demo","provider_id":"studio","currency":"USD","enabled":true,"max_in_flight":100,
			"not_received_after_seconds":60,"idempotency_key_seconds":3600,
			"budget_period":"BUDGET_PERIOD_MONTH","time_zone":"UTC","budget_limit_micros":100000000}`},
		{"GrantCredits", `{"tenant_id":"demo","account_id":"alice","grant_id":"welcome","credits":1000}`},
		{"GrantFreeAttempts", `{"tenant_id":"demo","account_id":"alice","grant_id":"welcome","attempts":3}`},
	} {
		invoke(t, s, settlementv1.AccountService_ServiceDesc.ServiceName, call.method, call.body)
	}
}
