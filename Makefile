# The front door. `make help` lists what there is; CI runs `make check long crashes e2e`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
UV_VERSION := 0.13.8
BIN := .venv/bin
WORKERS ?= 2

.PHONY: help setup lock check format lint types layers test long crashes fuzz docs crds chart demo e2e e2e-down chaos bench images clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9 -]+:.*## / {n = split($$1, names, " "); for (i = 1; i <= n; i++) printf "  make %-9s %s\n", names[i], $$2}' $(MAKEFILE_LIST)

setup: .venv/ready ## make the environment in .venv, exactly as uv.lock has it; needs Python 3.11 to 3.13, nothing else

.venv/ready: uv.lock pyproject.toml
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info < (3, 14); sys.exit(None if ok else f"Spillway needs Python 3.11 to 3.13; {sys.executable} is {sys.version.split()[0]}. Name another: make setup PYTHON=/path/to/python3.11")'
	@[ -x $(BIN)/uv ] || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(BIN)/python tools/lock.py --check
	@$(BIN)/uv export --frozen --all-extras --all-groups --no-emit-project --quiet --output-file .venv/requirements.txt
	@$(BIN)/uv pip sync --require-hashes --quiet .venv/requirements.txt
	@$(BIN)/python -m ensurepip >/dev/null && $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@; echo "ready: $(BIN)/spillway --help"

lock: ## resolve uv.lock again (UPGRADE=1: newest versions)
	@[ -x $(BIN)/uv ] || { $(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet uv==$(UV_VERSION); }
	@$(BIN)/python tools/lock.py $(if $(UPGRADE),--upgrade)

check: setup format lint types layers test ## all that a change has to pass, but for `long` and `crashes`

format: setup ## is the code formatted? (FIX=1 formats it)
	@$(BIN)/ruff format $(if $(FIX),,--check) .

lint: setup ## ruff (FIX=1 mends what it can)
	@$(BIN)/ruff check $(if $(FIX),--fix) .

types: setup ## mypy, strict, over all rooms
	@$(BIN)/mypy

layers: setup ## who may import whom
	@$(BIN)/lint-imports

test: setup ## all tests but whole jobs, crashes, e2e and the long fuzz (ARGS="-k broker")
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not (chaos or long)" $(ARGS)

long: setup ## the tests of whole jobs, many of them beside a Spark; some minutes
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "long and not chaos" $(ARGS)

crashes: setup ## slots, drivers and brokers die after every step, once each, and rules are broken; some minutes
	@$(BIN)/python -m pytest -m chaos -s $(ARGS)

fuzz: setup ## the random tests, fifty times as long: a million expressions on rows against Spark
	@SPILLWAY_FUZZ=50 $(BIN)/python -m pytest -m fuzz --timeout 7200 $(ARGS)

ROUNDS ?= 3
chaos: setup ## the crash tests with new dice, at every point, for so many ROUNDS (3: about half an hour)
	@SPILLWAY_CHAOS=$(ROUNDS) $(BIN)/python -m pytest -m chaos --timeout 1800 -s $(ARGS)

crds: setup ## write crds/ again from the model (then: make chart)
	@$(BIN)/spillway crds --output crds

chart: setup ## write what the chart has of other places again: CRDs, versions, dashboards, its README
	@$(BIN)/python tools/chart.py

docs: setup ## write the generated pages of docs/reference again
	@$(BIN)/python tools/reference.py

demo: setup ## see it work: a job on this machine, two bursts, a judge (ARGS="--seconds 120")
	@$(BIN)/spillway demo $(ARGS)

bench: setup ## both paradigms against each other and others: half an hour (ROUNDS=5, SECONDS=40, ARGS="--works lines")
	@$(BIN)/python -m spillway.bench.dual $(or $(WHAT),all) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(filter command line environment,$(origin ROUNDS)),--rounds $(ROUNDS)) $(ARGS)

CLUSTER := PYTHONPATH=e2e:tests/support $(BIN)/python -m cluster

images: setup ## build the images of operator and jobs (BASE_IMAGE=python:3.12-slim-bookworm)
	@$(CLUSTER) images

e2e: setup ## tests on a real cluster of one node; the first time 20 minutes (ARGS="-k burst")
	@$(CLUSTER) up
	@$(BIN)/python -m pytest -n 0 e2e $(ARGS)

e2e-down: setup ## remove that cluster
	@$(CLUSTER) down

clean: ## remove the environment and all caches of this folder
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
