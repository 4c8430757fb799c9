# `make` alone lists the targets. `make PYTHON=python3.12 …` chooses the interpreter.
PYTHON ?= python3
BIN := .venv/bin
# Two workers on two cores. `make test T="tests/records -k heat"` runs a part.
WORKERS ?= 2
T ?=
# Sizes for bench-search-speed, and a folder to keep what it built.
N ?= 100000
KEEP ?=

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo test soak check format bench-spine bench-search-speed bench-documents lock clean
export PYTHON

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done

setup: ## install what Reverie needs into .venv
	@.ci/setup

setup-dev: ## and the tools for tests and checks
	@.ci/setup dev

demo: setup ## a sample life, searched: no key, no network
	@$(BIN)/reverie demo

test: setup-dev ## all tests but the soak tests
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=20 $(T)

soak: setup-dev ## kill tests and long runs
	@$(BIN)/python -m pytest -m soak $(T)

check: setup-dev ## lint, format, types, import rule, own checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python checks/one_writer.py
	$(BIN)/python checks/limits.py
	$(BIN)/python checks/density.py
	$(BIN)/python checks/cycles.py
	$(BIN)/python checks/newcomer.py

format: setup-dev ## let ruff put right what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-spine: setup ## the figures of bench/RESULTS.md
	@$(BIN)/python bench/spine.py

bench-search-speed: setup-dev ## search beside its peers (N="100000 1000000" KEEP=/tmp/speed)
	@$(BIN)/python bench/search_speed.py --passages $(N) --peers --tenants --updates $(if $(KEEP),--keep $(KEEP))

bench-documents: setup-dev ## a folder twice, a long PDF stopped and resumed, hundreds of broken files
	@$(BIN)/python bench/documents.py
	@$(BIN)/python bench/hostile_files.py

lock: ## pin requirements*.txt anew (UPGRADE=1: to the newest)
	@.ci/lock $(if $(UPGRADE),--upgrade)

clean: ## remove what setup and the tools made
	rm -rf .venv .venv.previous dist build .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
