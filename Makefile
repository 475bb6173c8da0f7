# Two commands on a fresh machine: `make demo` and `make test`. Both do all the set-up.
# Needs: Python 3.11 (or uv, which brings one). Node from the system (20.19 or newer) or from a PyPI wheel.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON := .venv/bin/python
PLACEWRIGHT := .venv/bin/placewright
FRONTEND_SOURCES := $(shell find frontend -type f -not -path '*/node_modules/*' -not -path '*/dist/*' 2>/dev/null)
ARGS ?=

.PHONY: help
help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# --- set-up -----------------------------------------------------------------------------------------------------
.venv/.ready-run: requirements/run.txt pyproject.toml scripts/setup.sh
	bash scripts/setup.sh run
	touch $@

.venv/.ready-dev: requirements/dev.txt .venv/.ready-run
	bash scripts/setup.sh dev
	touch $@

frontend/node_modules/.ready: frontend/package-lock.json .venv/.ready-run
	bash scripts/npm.sh ci --no-audit --no-fund
	touch $@

frontend/dist/index.html: frontend/node_modules/.ready $(FRONTEND_SOURCES)
	bash scripts/npm.sh run build
	touch $@

.venv/.warm: .venv/.ready-run $(wildcard placement/*.py placement/*/*.py)
	$(PLACEWRIGHT) warm-up
	touch $@

.PHONY: setup
setup: .venv/.ready-run frontend/dist/index.html .venv/.warm ## install everything that running needs

.PHONY: setup-dev
setup-dev: setup .venv/.ready-dev ## install everything that testing needs as well

# --- use --------------------------------------------------------------------------------------------------------
.PHONY: demo
demo: setup ## upload a sample, place it for a minute, show the result, keep serving (ARGS=--exit ends after it)
	$(PLACEWRIGHT) demo $(ARGS)

.PHONY: run
run: setup ## serve on 127.0.0.1 (ARGS="--port 9000" and so on)
	$(PLACEWRIGHT) serve $(ARGS)

# --- check ------------------------------------------------------------------------------------------------------
.PHONY: check
check: setup-dev ## lint, format, types, import direction (quick)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	bash scripts/npm.sh run check

.PHONY: test
test: check ## everything: check, unit, property, integration and browser tests
	bash scripts/npm.sh test
	$(PYTHON) -m pytest $(ARGS)

.PHONY: test-quick
test-quick: setup-dev ## the tests that need no service, browser or long run
	$(PYTHON) -m pytest -m "not slow and not e2e" $(ARGS)

.PHONY: lock
lock: ## make requirements/*.txt anew from pyproject.toml
	bash requirements/lock.sh

.PHONY: clean
clean: ## remove what set-up made (not data/)
	rm -rf .venv .tools frontend/node_modules frontend/dist .mypy_cache .ruff_cache .pytest_cache
