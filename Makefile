# Two commands are all that anyone needs: make demo, make test.

tools = go tool -modfile=tools/go.mod
bin   = bin/settlementd

.PHONY: demo test build setup lint generate breaking bench benchmarks clean

demo: setup build ## plays every outcome on a private PostgreSQL and shows what became of the holds
	$(bin) demo

test: setup ## all tests, with the race detector, on a private PostgreSQL
	$(tools) gotestsum --format=pkgname-and-test-fails -- -race -timeout=15m ./...

build: ## bin/settlementd
	go build -trimpath -o $(bin) ./cmd/settlementd

setup: ## installs PostgreSQL and a C compiler where they are missing
	@scripts/setup

lint: ## Go and proto rules, and that the API stays compatible
	$(tools) golangci-lint run ./...
	go vet -tags=faults ./cmd/...
	$(tools) buf lint
	$(MAKE) breaking

breaking:
	$(tools) buf breaking proto --against api/baseline.binpb

generate: ## Go code of the protos
	$(tools) buf generate

bench: setup build ## what the service can do on this machine, and what a call costs; then the Go benchmarks
	$(bin) bench
	$(MAKE) benchmarks

benchmarks: setup ## the Go benchmarks, beside those of the run before
	@mkdir -p bin && touch bin/benchmarks.txt && mv bin/benchmarks.txt bin/benchmarks.before.txt
	go test -run='^$$' -bench=. -count=6 ./internal/ledger/... ./internal/bench | tee bin/benchmarks.txt
	$(tools) benchstat bin/benchmarks.before.txt bin/benchmarks.txt

clean:
	rm -rf bin
