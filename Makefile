# `make` alone shows the targets. Nothing here asks a question; what is missing is installed (as root, on Debian)
# or named.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The steps of a target follow each other; cargo uses the cores by itself.
.NOTPARALLEL:
.PHONY: help run test check compile test-browser pictures test-clients test-long test-schema test-chaos test-upgrade test-issuers test-packages \
	test-reproducible test-charts fuzz bench bench-fleet dist fmt lint doc generate examples need-build need-test format-check deny \
	direction ceilings need-all

CARGO ?= cargo
# In CI the lock file is the truth; at a desk cargo may complete it.
LOCKED := $(if $(CI),--locked)

# The profile of `make run` is that of the tests: quick to build, and the service still answers in milliseconds (Cargo.toml says what
# is optimised). For use: `make run PROFILE=release`.
PROFILE ?= dev
# Arguments for the program: make run ARGS='--help'
ARGS ?=

# Debian packages of the targets (scripts/need.sh).
NEED_TEST := postgresql prometheus-alertmanager prometheus victoria-metrics curl jq openssl python3 python3-aiosmtpd poppler-utils \
	nginx-light caddy nodejs npm
NEED_BROWSER := chromium chromium-driver postgresql nodejs npm
NEED_CLIENTS := curl jq openssl python3 nodejs npm
NEED_CHARTS := golang-go openssl postgresql python3
NEED_DIST := debhelper ca-certificates tzdata python3
NEED_PACKAGES := $(NEED_DIST) debootstrap debian-archive-keyring umoci curl jq python3-aiosmtpd

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-17s %s\n", $$1, $$2 }'

run: need-build ## build and start the service with everything built in: http://127.0.0.1:8080, data in ./data
	@echo 'Building Bailiwick: the first time takes four to ten minutes on two cores. Then it starts, with its data in ./data.'
	$(CARGO) run $(LOCKED) --profile $(PROFILE) --bin bailiwick -- $(ARGS)

# Everything but the browser tests, whose target is not among the default ones (tests/api/Cargo.toml). The HTTP tests wait for
# databases, mail and timers for a good part of their time: two run for each core, and the other tests (`--test` with a
# pattern) run beside them; their output follows when both have ended. The pattern leaves out `api` and `browser`, so no other
# test target may have a name that begins with `a` or `b`. There are no tests in documentation comments.
test: need-test ## all tests, both databases, a real Alertmanager, Prometheus, vmalert, mail server, identity provider and object storage
	@echo 'Compiling the tests, then running them: about half an hour on two cores the first time.'
	$(CARGO) test $(LOCKED) --workspace --no-run
	others=$$(mktemp); trap 'rm -f "$$others"' EXIT; export RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$((3 * $$(nproc)))}; \
	$(CARGO) test $(LOCKED) --workspace --lib --bins --test '[!ab]*' --no-fail-fast >"$$others" 2>&1 & \
	failed=; $(CARGO) test $(LOCKED) --workspace --test api --no-fail-fast || failed=1; \
	wait $$! || failed=1; cat "$$others"; [ -z "$$failed" ]

check: need-build format-check lint doc deny direction ## format, lints, links in comments, licences, direction and features of dependencies

# What the parts of `.ci/run` share.
compile:
	$(CARGO) test $(LOCKED) --workspace --no-run
	$(CARGO) test $(LOCKED) --workspace --test browser --no-run
	$(CARGO) build $(LOCKED) --bin bailiwick

# The chromium part itself is tested here too: its test is left out of `make test`, which needs no browser.
test-browser: need-build ## the tests in a real browser
	scripts/need.sh $(NEED_BROWSER)
	scripts/identity-provider.sh
	$(CARGO) test $(LOCKED) --workspace --lib -- --ignored chromedriver
	$(CARGO) test $(LOCKED) --workspace --test browser

pictures: need-build ## make the pictures of the console in the documents anew, after a change of its pages
	scripts/need.sh chromium chromium-driver
	BAILIWICK_WRITE_PICTURES=1 $(CARGO) test $(LOCKED) --workspace --test browser -- pictures::

# Mermaid is 5 MB of npm, so the pictures are kept in the repository. A test compares their texts with the documents.
diagrams: ## make the pictures of the diagrams in the documents anew, after a change of one
	scripts/need.sh chromium nodejs npm python3
	npm install --prefix "$${CARGO_TARGET_DIR:-target}/diagrams" --no-audit --no-fund --silent mermaid@12.3.0
	python3 scripts/diagrams.py "$${CARGO_TARGET_DIR:-target}/diagrams/node_modules/mermaid"

# A build of its own for the Rust client and 50 MB of npm, so it is not part of `make test`.
test-clients: need-build ## generate clients from the interface document (TypeScript, Rust) and run the README's tour with them
	scripts/need.sh $(NEED_CLIENTS)
	$(CARGO) build $(LOCKED) --bin bailiwick
	scripts/clients.sh

# What `make test` does for seconds, for a minute each and with the release build.
test-long: need-test ## a minute of documents at full load and 10,000 events, kills in the middle, on both databases; a large move to PostgreSQL
	$(CARGO) build $(LOCKED) --release --bin bailiwick
	BAILIWICK_LOAD_SECONDS=60 BAILIWICK_PROGRAM="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/bailiwick" \
		$(CARGO) test $(LOCKED) -p bailiwick-server --test process -- load:: --nocapture --test-threads 1
	BAILIWICK_EVENTS=10000 BAILIWICK_PROGRAM="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/bailiwick" \
		$(CARGO) test $(LOCKED) -p bailiwick-server --test process -- events:: --nocapture --test-threads 1
	BAILIWICK_COPY_ORGANIZATIONS=1000 BAILIWICK_COPY_SYSTEMS=10000 \
		BAILIWICK_PROGRAM="$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release/bailiwick" \
		$(CARGO) test $(LOCKED) -p bailiwick-server --test process -- moving::postgres_answers --nocapture

# Generated requests against a running service; the figures are printed. Needs the Python package registry once.
test-schema: need-build ## requests made from the interface document, valid and not, to every operation, on both databases
	scripts/need.sh postgresql curl python3
	$(CARGO) build $(LOCKED) --bin bailiwick
	scripts/schemathesis.sh

# tests/chaos/run.sh names the variables. Its report is not kept: it passes, or says what is missing.
test-chaos: need-build ## kills, crashes, freezes, wrong clocks, a full disk and cut networks under the load of a fleet, and a search for anything lost
	scripts/need.sh postgresql nginx-light curl jq python3 socat strace
	CARGO='$(CARGO)' tests/chaos/run.sh

# tests/upgrade/run.sh names the variables. It builds the version before, unless one of them names its binary.
test-upgrade: need-build ## replaces the processes of the version before by the present build, one after the other, under the load of a fleet
	scripts/need.sh postgresql nginx-light curl jq
	CARGO='$(CARGO)' tests/upgrade/run.sh

# tests/issuers/run.sh names the variables. Keycloak is fetched once, 180 MB from Maven Central, so it is not part of `make test`.
test-issuers: need-build ## signs people in at a real Keycloak: links, claims, refresh, revocation, new keys, an outage
	scripts/need.sh default-jre-headless curl jq openssl procps python3 unzip
	CARGO='$(CARGO)' tests/issuers/run.sh

# tests/charts/run.sh names the variable. Helm is compiled once, which takes two minutes of two cores, and no container is started.
test-charts: need-build ## the Helm chart and the compose files: rendered, validated, their settings in the real program
	scripts/need.sh $(NEED_CHARTS)
	$(CARGO) build $(LOCKED) --bin bailiwick
	tests/charts/run.sh

# tests/packages/run.sh names the variables. It installs a fresh Debian for itself, 100 MB of packages, kept in the user's cache.
test-packages: need-build ## make the artifacts of a release from the debug program, and install them in an empty root and a fresh Debian
	scripts/need.sh $(NEED_PACKAGES)
	[[ -n $${DIST_PROGRAM:-} ]] || $(CARGO) build $(LOCKED) --bin bailiwick
	CARGO='$(CARGO)' tests/packages/run.sh

test-reproducible: need-build ## makes the artifacts of a release twice, in different directories, and compares them: two release builds
	scripts/need.sh $(NEED_DIST)
	CARGO='$(CARGO)' tests/packages/twice.sh

fuzz: need-build ## search for inputs that break parsing, ten minutes a target; needs a nightly compiler and cargo-fuzz
	scripts/fuzz.sh

bench: need-build ## measure the release build beside nginx; adds to benches/RESULTS.md
	$(CARGO) bench $(LOCKED) -p bailiwick-inventory
	scripts/need.sh wrk nginx-light
	benches/run.sh

# BENCH_SYSTEMS and BENCH_SECONDS set its size; benches/fleet/run.sh names the others. ARGS go to the load generator.
bench-fleet: need-build ## the load of a fleet on three processes of the release build behind nginx, and a search for anything lost; adds to benches/RESULTS.md
	scripts/need.sh postgresql nginx-light curl jq
	CARGO='$(CARGO)' benches/fleet/run.sh $(ARGS)

# scripts/dist/environment.sh names the variables.
dist: need-build ## the artifacts of a release in target/dist: tarball, Debian package, image, list of contents, licences, sums (docs/install.md)
	scripts/need.sh $(NEED_DIST)
	CARGO='$(CARGO)' scripts/dist/run.sh

fmt: ## format the code
	$(CARGO) fmt --all

lint: ## what the compiler and clippy have to say, as errors
	$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings
	$(CARGO) clippy $(LOCKED) --workspace --test browser -- -D warnings

doc: ## the documentation of the code, whose links must lead somewhere
	RUSTDOCFLAGS='-D warnings -A rustdoc::private_intra_doc_links' $(CARGO) doc $(LOCKED) --workspace --no-deps --document-private-items

generate: ## renew openapi.json and docs/configuration.md
	scripts/generated.sh

examples: need-build ## take over what the operations answer now as the examples of the reference; then as `make generate`
	BAILIWICK_WRITE_EXAMPLES=1 $(CARGO) test $(LOCKED) --workspace --test api -- \
		--exact examples::every_operation_as_the_reference_shows_it::sqlite
	scripts/generated.sh

need-build:
	@scripts/need.sh rust build-essential

need-test: need-build
	@scripts/need.sh $(NEED_TEST)
	@scripts/identity-provider.sh

# At once, because the parts of `.ci/run` would install beside each other.
need-all: need-test
	@scripts/need.sh $(NEED_BROWSER) $(NEED_CLIENTS) $(NEED_CHARTS) $(NEED_PACKAGES)

format-check:
	$(CARGO) fmt --all --check

deny:
	@if command -v cargo-deny >/dev/null; then $(CARGO) deny check bans licenses sources; \
		if $(CARGO) deny fetch db >/dev/null 2>&1; then $(CARGO) deny check advisories; \
		else echo 'the advisories cannot be fetched: they are not checked'; fi; \
	else echo 'cargo-deny is not installed: licences and advisories are not checked'; fi

direction:
	@scripts/need.sh python3
	scripts/direction.sh

# After a build of the program.
ceilings:
	CARGO='$(CARGO)' scripts/ceilings.sh
