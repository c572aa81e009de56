# Everything runs in .venv, made on first use; no root needed. `make PYTHON=python3.12` picks the interpreter.
PYTHON ?= python3
WORKERS ?= logical
PYTEST_ARGS ?=
# make fuzz: one half of FUZZ_SECONDS is for property tests, the other for spoilt inputs (10,500 of them, if there is time);
# SEED=… draws the same again, FUZZ_RUNS=20 goes on with the next seeds.
FUZZ_SECONDS ?= 1800
FUZZ_RUNS ?= 1
ifndef SEED
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Two stamps: the demo needs Sightline and torch alone, the rest also needs the development tools.
RUN := .venv/.sightline
DEV := .venv/.sightline-dev

.PHONY: all demo test test-long fuzz truth lint bench docs clean

all: $(DEV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Sightline needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

# The distribution was once called sightline; both would be the package `sightline`.
UNNAMED := $(BIN)/python -m pip uninstall --quiet --yes --disable-pip-version-check sightline 2>/dev/null

$(RUN): pyproject.toml | $(BIN)/python
	@$(UNNAMED)
	$(PIP) -e '.[torch]'
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	@$(UNNAMED)
	$(PIP) -e '.[dev]'
	@touch $(RUN) $@

demo: $(RUN)
	$(BIN)/sightline demo --out demo-out

test: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not long" $(PYTEST_ARGS) tests src

test-long: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m long $(PYTEST_ARGS) tests

fuzz: $(DEV)
	@set -e; seed=$(SEED); for run in $$(seq $(FUZZ_RUNS)); do \
	  echo "make fuzz SEED=$$seed FUZZ_SECONDS=$(FUZZ_SECONDS) (run $$run of $(FUZZ_RUNS))"; begun=$$(date +%s); \
	  $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m hypothesis --hypothesis-profile=fuzz \
	    --hypothesis-seed=$$seed --fuzz-seconds=$$(( $(FUZZ_SECONDS) / 2 )) $(PYTEST_ARGS) tests; \
	  $(BIN)/python tests/fuzz/fuzz.py --seed $$seed --seconds $$(( $(FUZZ_SECONDS) / 2 )); \
	  echo "run $$run of $(FUZZ_RUNS), SEED=$$seed: nothing found, $$(( $$(date +%s) - begun )) s"; \
	  seed=$$(( (seed + 1) % 4294967296 )); \
	done

# The truth of generated scenes against ray casting and judging anew, some five minutes; `make test` has a few scenes of it.
truth: $(DEV)
	$(BIN)/python tests/reference/check_truth.py --write docs/results/worlds/truth.md

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV)
	@set -e; for script in benchmarks/[!_]*.py; do echo "== $$script"; $(BIN)/python "$$script"; done

docs: $(DEV)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python -m pytest -q tests/test_docs.py
	@echo "docs in docs/_build/html/index.html"

clean:
	rm -rf .venv build dist docs/_build demo-out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks tools docs .ci -name __pycache__ -type d -prune -exec rm -rf {} +
