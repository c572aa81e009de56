# Everything runs in .venv, made on first use; no root needed. `make PYTHON=python3.12` picks the interpreter.
PYTHON ?= python3
WORKERS ?= logical
PYTEST_ARGS ?=
# make fuzz: no property test begins after FUZZ_SECONDS; SEED=… draws the same examples again.
FUZZ_SECONDS ?= 600
ifndef SEED
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Two stamps: the demo needs Sightline and torch alone, the rest also needs the development tools.
RUN := .venv/.sightline
DEV := .venv/.sightline-dev

.PHONY: all demo test fuzz lint bench docs clean

all: $(DEV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Sightline needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

$(RUN): pyproject.toml | $(BIN)/python
	$(PIP) -e '.[torch]'
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $(RUN) $@

demo: $(RUN)
	$(BIN)/sightline demo --out demo-out

test: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS) tests src

fuzz: $(DEV)
	@echo "make fuzz SEED=$(SEED) FUZZ_SECONDS=$(FUZZ_SECONDS)"
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m hypothesis --hypothesis-profile=fuzz \
	  --hypothesis-seed=$(SEED) --fuzz-seconds=$(FUZZ_SECONDS) $(PYTEST_ARGS) tests

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
