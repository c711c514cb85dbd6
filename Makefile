# The whole developer interface. Only python3 (3.11 or newer), make and git are assumed.
PY := .venv/bin/python

.PHONY: help run run-team serve tour page wheel dist sbom test check lint types contracts budget features docs docs-site workflows unit test-page test-integrations test-clients test-journeys fuzz bench clean
.DEFAULT_GOAL := help

help:  ## Show what there is to run
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# One home for all that runs from this checkout. PORT=0 takes a free port.
PORT ?= 7437
HERE := WELLKEPT_HOME="$(CURDIR)/.wellkept" WELLKEPT_EMBEDDING_PROVIDER=static

run: .venv/run.stamp page  ## Set up, then show the page with weeks of a demo project, until stopped
	@.venv/bin/wellkept admin demo --port $(PORT)

serve: tour page  ## Set up, take in this repository, then serve it until stopped
	@$(HERE) .venv/bin/wellkept serve --port $(PORT)

run-team: .venv/dev.stamp  ## Set up, start PostgreSQL, and serve a team's memory until stopped
	@$(PY) -m scripts.run_team --port $(PORT)

tour: .venv/run.stamp  ## Set up, take in this repository, show what is known, and end
	@$(HERE) .venv/bin/wellkept init --tour --ask "How is the code laid out?" \
		--ask "How do I run the tests?" --ask "Why one SQLite file?"

page:  ## Build the web page (Node from the machine, else from PyPI)
	@scripts/page build || echo "The page could not be built; the server works without it." >&2

wheel: dist
dist: page .venv/dev.stamp  ## Build sdist and wheel of each distribution, with the page inside, into dist/
	@$(PY) -m scripts.dist

sbom: .venv/dev.stamp  ## Write what the wheels in dist/ are made of (CycloneDX)
	@scripts/sbom

test: check test-page test-integrations unit  ## Set up and run every check and test

check: lint types contracts budget features docs docs-site workflows

# Each step says how long it took; the tests name the slowest.
lint: .venv/dev.stamp
	@scripts/timed lint .venv/bin/ruff check .
	@.venv/bin/ruff format --check -q . || (echo "Run: .venv/bin/ruff format ." && false)

types: .venv/dev.stamp
	@scripts/timed types .venv/bin/pyright --warnings

contracts: .venv/dev.stamp
	@scripts/timed contracts .venv/bin/lint-imports --no-cache --config pyproject.toml

budget: .venv/dev.stamp  ## Check the size of each room and what a cold start imports
	@scripts/timed budget $(PY) -m scripts.budget

features: .venv/dev.stamp  ## Check that tests cite rows and docs/features.md is fresh
	@scripts/timed features $(PY) -m scripts.features --check

docs: .venv/dev.stamp
	@scripts/timed docs $(PY) -m scripts.generate_docs --check

docs-site: .venv/dev.stamp  ## Build the documentation site into site/; a broken link fails
	@scripts/timed docs-site scripts/docs-site

workflows: .venv/dev.stamp  ## Check the workflows and issue forms, without a network
	@scripts/timed workflows scripts/check-workflows

unit: .venv/dev.stamp
	@OPENBLAS_NUM_THREADS=1 scripts/timed tests $(PY) -m pytest -n auto -q \
		--durations=12 --durations-min=3

# The page: types, lint and logic, then Chromium against a real server.
test-page: .venv/dev.stamp  ## Check the web page and try it in a browser
	@scripts/timed page scripts/page test
	@scripts/timed browser scripts/page e2e

# CrewAI and Mem0 ask for other versions of packages, so they have an environment of their own.
test-integrations: .venv/dev.stamp  ## Test the adapters for CrewAI and Mem0 with the real packages
	@scripts/timed integrations scripts/test-integrations

# Four real clients, fetched once (npm, about 1 GB), against model endpoints on loopback.
test-clients: export WELLKEPT_CLIENTS ?= $(HOME)/.cache/wellkept-clients
test-clients: .venv/dev.stamp  ## Run real coding clients with Wellkept installed (minutes)
	@scripts/get-clients
	@$(PY) -m pytest -n 0 -q tests/running_clients

# Breaks the product in a copy, row by row, and sees that the row's journey fails.
test-journeys: .venv/dev.stamp  ## Run every journey, then see that each notices what is taken away
	@$(PY) -m pytest -n auto -q tests/journeys
	@$(PY) -m tests.journeys.mutate

# Nightly: a million damaged inputs. What fails is kept in bench/data/fuzz.
FUZZ_COUNT ?= 1000000
FUZZ_SEED ?= 13
fuzz: .venv/dev.stamp  ## Throw damaged input at everything that reads what others wrote (hours)
	@$(PY) -m bench.fuzz --count $(FUZZ_COUNT) --seed $(FUZZ_SEED)

bench: .venv/dev.stamp  ## Run every benchmark (long)
	@$(PY) -m bench

clean:  ## Remove what set-up and runs have made
	rm -rf .venv .wellkept .hypothesis .ruff_cache build dist site packages/*/src/*.egg-info bench/out \
		web/node_modules packages/wellkept/src/wellkept/api/page

.venv/run.stamp: $(wildcard packages/*/pyproject.toml) requirements-dev.txt constraints.txt scripts/setup
	@scripts/setup run

.venv/dev.stamp: $(wildcard packages/*/pyproject.toml) requirements-dev.txt constraints.txt scripts/setup
	@scripts/setup dev
