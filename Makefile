# slotmark's entry points. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help setup extension build targets wheel s3-server node-amaru demo demo-history demo-cluster demo-chainsync demo-ledger test test-shared test-slow bench attack lint stubs format licences lock clean
SHELL := /bin/bash -euo pipefail

UV := .build/bootstrap/bin/uv
PY := .venv/bin/python
INSIDE := python/slotmark/inside
MODULE := python/slotmark/_core.abi3.so
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Images of containers often set it: each of our processes would then compile all that it loads.
unexport PYTHONDONTWRITEBYTECODE

# Data that is not part of the project; where it is there, the real chain is unpacked from it, and more tests run.
export SLOTMARK_SHARED ?= $(abspath ../shared)
PREVIEW_ARCHIVE := $(wildcard $(SLOTMARK_SHARED)/data/preview-immutable.tar.zst)
ifneq ($(PREVIEW_ARCHIVE),)
PREVIEW := .build/chains/preview
export SLOTMARK_PREVIEW_CHAIN := $(CURDIR)/$(PREVIEW)
endif

# What live clusters run: they are of Linux's own parts.
LIVE := $(if $(filter Linux,$(shell uname)),slotmark-wan slotmark-wakes slotmark-node slotmark-txgen)

# The whole workspace where all of it can be built: cargo then builds what it depends on as the tests do, and only once.
PROGRAMS := $(if $(LIVE),--workspace --lib --bins,--package slotmark-target-native --package slotmark-target-floor --package slotmark-replay --package slotmark-forge --package slotmark-server)

# What cargo's tests print, without the lines of those that passed; the whole is kept for the list of what was skipped.
CARGO_TEST := cargo test --release --locked --workspace --tests
# Many of them wait for nodes and for limits of time, and use little of a processor meanwhile.
export RUST_TEST_THREADS := $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 3)
# Tests that cargo ignores need the shared data, but for one measurement, which no gate waits for or rests on.
NOT_IN_THE_GATE := --skip delay_of_adoption_under_attack
# The gate draws the same cases each time; the slower proofs draw new ones.
SAME_CASES := PROPTEST_RNG_SEED=1
WITHOUT_PASSED := tee .build/cargo-test.log | grep -v -e '\.\.\. ok$$' -e '^running ' -e '^$$'
# tests/side_by_side.py says how many processes there are, and which runs what. The slower proofs need the machine for themselves.
SIDE_BY_SIDE := -n auto

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: build targets ## set up all that is needed; the command is then .venv/bin/slotmark

$(UV): requirements.bootstrap.lock
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "slotmark needs Python 3.11 or newer as python3")'
	command -v cargo >/dev/null || { echo "slotmark needs Rust: cargo is not on the PATH" >&2; exit 1; }
	python3 -m venv .build/bootstrap
	.build/bootstrap/bin/pip install --quiet --require-hashes -r requirements.bootstrap.lock
	touch $@

.build/python: requirements.lock $(UV)
	$(UV) venv --quiet --allow-existing --python "$$(command -v python3)" .venv
	$(UV) pip install --quiet --require-hashes --python $(PY) --requirements requirements.lock
	touch $@

# What tests, linters and benchmarks need beside: more than half of all bytes, for which no demo waits. All is compiled, so that no test does it.
.build/python-dev: requirements.dev.lock .build/python
	$(UV) pip install --quiet --compile-bytecode --require-hashes --python $(PY) --requirements requirements.dev.lock
	touch $@

extension: $(MODULE) # the Python environment, and the Rust part that is a module of it

# Asking pip and cargo whether there is anything to do takes longer than some demos' commands.
$(MODULE): .build/python Cargo.toml Cargo.lock pyproject.toml $(shell find crates -type f)
	PATH="$(CURDIR)/.venv/bin:$$PATH" $(UV) pip install --quiet --no-deps --no-build-isolation --python $(PY) -e .
	touch $@

build: extension # that, and our programs, in release
	cargo build --quiet --release --locked $(PROGRAMS)

targets: build # the clients under test; one whose toolchain is missing is left out with a line that says so
	.venv/bin/slotmark chainsync targets --build all

ifdef PREVIEW
$(PREVIEW): | .build/python
	$(PY) -m tests.preview_chain $(PREVIEW_ARCHIVE) $(PREVIEW)
endif

wheel: build ## the package to install elsewhere, with our clients and other programs inside, in .build/wheels
	mkdir -p $(INSIDE)/target/release && cp -r nodes $(INSIDE)/
	for name in native floor; do mkdir -p $(INSIDE)/targets/$$name && \
	  printf 'command = ["../../target/release/slotmark-target-%s"]\nbuild = []\nneeds = []\n' $$name >$(INSIDE)/targets/$$name/target.toml; done
	for name in slotmark-target-native slotmark-target-floor slotmark-replay slotmark-stores slotmark-forge slotmark-server $(LIVE); do install target/release/$$name $(INSIDE)/target/release/; done
	PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/maturin build --quiet --release --locked --interpreter $(PY) --out .build/wheels; \
	  status=$$?; rm -r $(INSIDE); exit $$status

# Locked with all its modules by their hashes. It took 164 s of processor time to build.
s3-server: .build/s3/versitygw ## the S3 server that tests write runs to; without Go, or without its modules, those tests are skipped

.build/s3/versitygw: tests/s3_server/go.mod tests/s3_server/go.sum
	if command -v go >/dev/null && (cd tests/s3_server && go build -o $(CURDIR)/$@ github.com/versity/versitygw/cmd/versitygw); then touch $@; \
	  else echo "left out: the S3 server of tests, which needs Go and its modules" >&2; fi

# It needs m4 for GMP and libclang for RocksDB's bindings (Debian: apt-get install m4 clang libclang-dev), and took 29 minutes of two cores. A part
# of it uses features that stable Rust keeps for itself.
node-amaru: .build/amaru/bin/amaru ## Amaru, the node in Rust, which begins with `slotmark chain snapshot` (docs/amaru.md); not part of anything else

.build/amaru/bin/amaru:
	@for tool in m4 clang; do command -v $$tool >/dev/null || { echo "node-amaru: $$tool isn't there: expected m4, clang and libclang. Install them." >&2; exit 1; }; done
	RUSTC_BOOTSTRAP=1 cargo install amaru --version 0.1.2 --locked --root .build/amaru --target-dir .build/amaru/target --bin amaru

demo: extension ## simulate two node versions on 52 hosts, ingest their logs, compare, say where the report is
	examples/cluster/run.sh

demo-cluster: build ## run five real nodes, half of them with a planted delay, for four minutes; compare, say where the report is
	examples/live/run.sh

demo-chainsync: build $(PREVIEW) ## run clients over a chain, print the comparison, say where the report is
	examples/chainsync/run.sh

demo-ledger: build ## replay a chain over three stores, print the comparison, say where the report is
	examples/ledger/run.sh

demo-history: extension ## simulate 200 runs of 20 versions; show what changed, which version did it, the comment on it, and the site
	examples/history/run.sh

test: setup wheel lint .build/python-dev s3-server $(PREVIEW) ## lint and all tests; those that need the shared data only where it is there
	$(SAME_CASES) $(CARGO_TEST) $(if $(PREVIEW),-- --include-ignored $(NOT_IN_THE_GATE)) | $(WITHOUT_PASSED)
	$(PY) -m pytest $(SIDE_BY_SIDE) -m "not slow" --hypothesis-seed=1
	@sed -n 's/^test \(.*\) \.\.\. ignored, /SKIPPED \1: /p' .build/cargo-test.log

test-shared: setup .build/python-dev $(PREVIEW) ## only the tests that need the shared data
	$(SAME_CASES) $(CARGO_TEST) -- --ignored $(NOT_IN_THE_GATE) | $(WITHOUT_PASSED)
	$(PY) -m pytest $(SIDE_BY_SIDE) -m "shared_data and not slow" --hypothesis-seed=1

test-slow: setup .build/python-dev s3-server $(PREVIEW) ## the slower proofs
	$(CARGO_TEST) | $(WITHOUT_PASSED)
	$(PY) -m pytest -m slow

bench: setup .build/python-dev $(PREVIEW) ## our own speed, beside peers, in one run
	benchmarks/run

attack: setup .build/python-dev ## hostile and damaged input from seeds, for 20 minutes at most beside its controls; ATTACK='--share 0.01' tries it out
	$(PY) -m attack $(ATTACK)

lint: .build/python-dev ## every linter, without warnings
	.venv/bin/ruff check --quiet .
	.venv/bin/ruff format --quiet --check .
	.venv/bin/basedpyright --warnings
	$(STUBS) && diff .build/stubs/slotmark/_core.pyi python/slotmark/_core.pyi || { echo 'make stubs writes the stub anew' >&2; exit 1; }
	cargo fmt --all --check
	cargo clippy --quiet --release --locked --workspace --all-targets -- -D warnings
	cd targets/pallas && cargo fmt --check && cargo clippy --quiet --release --locked -- -D warnings
	if command -v go >/dev/null; then cd targets/gouroboros && test -z "$$(gofmt -l .)" && go vet ./...; fi

STUBS := PATH="$(CURDIR)/.venv/bin:$$PATH" maturin generate-stubs --quiet --locked --profile release --features stubs --out .build/stubs && \
  .venv/bin/ruff format --quiet .build/stubs/slotmark/_core.pyi

stubs: .build/python-dev ## write the stub of the compiled module
	$(STUBS) && cp .build/stubs/slotmark/_core.pyi python/slotmark/_core.pyi

format: .build/python-dev ## put code into its form
	.venv/bin/ruff check --quiet --fix . ; .venv/bin/ruff format --quiet .
	cargo fmt --all
	cd targets/pallas && cargo fmt
	if command -v go >/dev/null; then cd targets/gouroboros && gofmt -w .; fi

licences: setup ## the licence of every dependency
	$(PY) .ci/licences.py

lock: $(UV) ## resolve the Python dependencies anew
	$(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 --extra build --extra dev --upgrade pyproject.toml -o requirements.dev.lock
	$(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 --extra build --constraints requirements.dev.lock --upgrade pyproject.toml -o requirements.lock
	echo s3fs | $(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 --custom-compile-command 'make lock' --upgrade - -o benchmarks/scale/requirements.lock

clean: ## remove all that was built
	rm -rf .build .venv target targets/*/target targets/*/bin targets/*/dist targets/*/node_modules
