# Two commands are all that anyone needs: make demo, make test.

tools = go tool -modfile=tools/go.mod
bin   = bin/settlementd

.PHONY: demo test build setup lint generate breaking bench clean

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

bench: setup ## Reserve and Settle pairs through the whole path, beside one transaction a call
	go test -run='^$$' -bench=. -benchtime=3s ./internal/bench

clean:
	rm -rf bin
