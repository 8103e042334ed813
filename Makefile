# slotmark's entry points. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help setup build targets demo demo-chainsync test test-slow bench lint format lock clean
SHELL := /bin/bash -euo pipefail

UV := .build/bootstrap/bin/uv
PY := .venv/bin/python
SLOTMARK := .venv/bin/slotmark
PREVIEW_ARCHIVE := ../shared/data/preview-immutable.tar.zst
PREVIEW := .build/chains/preview
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export SLOTMARK_PREVIEW_CHAIN := $(if $(wildcard $(PREVIEW_ARCHIVE)),$(CURDIR)/$(PREVIEW))

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: build targets ## set up all that is needed; the command is then .venv/bin/slotmark

$(UV): requirements.bootstrap.lock
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "slotmark needs Python 3.11 or newer as python3")'
	command -v cargo >/dev/null || { echo "slotmark needs Rust: cargo is not on the PATH" >&2; exit 1; }
	python3 -m venv .build/bootstrap
	.build/bootstrap/bin/pip install --quiet --require-hashes -r requirements.bootstrap.lock
	touch $@

.build/python: requirements.lock $(UV)
	$(UV) venv --quiet --allow-existing --python "$$(command -v python3)" .venv
	$(UV) pip sync --quiet --require-hashes --python $(PY) requirements.lock
	touch $@

build: .build/python # the Python environment and the Rust parts, in release
	cargo build --quiet --release --locked --workspace
	PATH="$(CURDIR)/.venv/bin:$$PATH" $(UV) pip install --quiet --no-deps --no-build-isolation --python $(PY) -e .

targets: build # the clients under test; one whose toolchain is missing is left out with a line that says so
	$(SLOTMARK) chainsync targets --build all

$(PREVIEW): | .build/python
	$(PY) -m tests.preview_chain $(PREVIEW_ARCHIVE) $(PREVIEW)

demo: build ## simulate two node versions on 52 hosts, ingest their logs, compare, say where the report is
	examples/cluster/run.sh

demo-chainsync: build $(if $(SLOTMARK_PREVIEW_CHAIN),$(PREVIEW)) ## run clients over a chain, print the comparison, say where the report is
	examples/chainsync/run.sh

test: setup lint $(if $(SLOTMARK_PREVIEW_CHAIN),$(PREVIEW)) ## lint and all tests
	cargo test --quiet --release --locked --workspace
	$(PY) -m pytest -m "not slow"

test-slow: setup $(if $(SLOTMARK_PREVIEW_CHAIN),$(PREVIEW)) ## the slower proofs
	$(PY) -m pytest -m slow

bench: setup $(if $(SLOTMARK_PREVIEW_CHAIN),$(PREVIEW)) ## our own speed, beside peers, in one run
	benchmarks/run

lint: build ## every linter, without warnings
	.venv/bin/ruff check --quiet .
	.venv/bin/ruff format --quiet --check .
	.venv/bin/basedpyright --warnings
	cargo fmt --all --check
	cargo clippy --quiet --release --locked --workspace --all-targets -- -D warnings
	cd targets/pallas && cargo fmt --check && cargo clippy --quiet --release --locked -- -D warnings
	if command -v go >/dev/null; then cd targets/gouroboros && test -z "$$(gofmt -l .)" && go vet ./...; fi

format: .build/python ## put code into its form
	.venv/bin/ruff check --quiet --fix . ; .venv/bin/ruff format --quiet .
	cargo fmt --all

lock: $(UV) ## resolve the Python dependencies anew
	$(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 --extra dev --upgrade pyproject.toml -o requirements.lock

clean: ## remove all that was built
	rm -rf .build .venv target targets/*/target targets/*/bin targets/*/dist targets/*/node_modules
