# `make` lists the targets. Each creates what it needs in .venv, from nothing but python3 and make.

PYTHON ?= python3
BIN := .venv/bin
OUT ?= build
PIP := $(BIN)/pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow statistical fuzz audit check bench bench-peers studies accuracy docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The stamps keep an installation from being repeated until pyproject.toml changes.
.venv/.core: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Tacita needs Python 3.11 or later; name one with: make PYTHON=python3.12"; exit 1; }
	@echo "Installing Tacita in .venv (once) ..."
	@$(PYTHON) -m venv .venv
	@$(PIP) -e .
	@touch $@

.venv/.dev: .venv/.core studies/pyproject.toml
	@echo "Installing the studies and the tools for tests and checks (once) ..."
	@$(PIP) -e '.[dev,docs,spark,bayes]' -e ./studies
	@touch $@

demo: .venv/.core ## a complete release of a simulated file: plan, run, verify, and a page to look at
	@$(BIN)/tacita demo --out $(OUT)/demo --force

# In the order of the folders: the long files come early, and many short ones at the end keep both processes busy.
test: .venv/.dev ## all tests but the slow ones
	@$(BIN)/pytest -m "not slow" -n 2 --dist loadfile --no-loadscope-reorder $(PYTEST)

test-slow: .venv/.dev ## the slow tests: minutes each
	@$(BIN)/pytest -m slow $(PYTEST)

RUNS ?= 1
statistical: .venv/.dev ## the tests that draw fresh entropy; RUNS=30 repeats them
	@$(BIN)/python tests/support/repeated.py $(RUNS) -q tests/statistical tests/unit/noise $(PYTEST)

fuzz: .venv/.dev ## 20,000 fuzzed specifications, 3,000 runs and 500 odd files: about an hour; SEED=2 for others
	@FUZZ=full SEED=$(or $(SEED),1) $(BIN)/pytest -q tests/fuzz $(PYTEST)

audit: .venv/.core ## every promise on hostile neighbours, and broken twins; AUDIT=--full, or AUDIT="EdgeLaplace"
	@$(BIN)/tacita audit --json $(OUT)/audit/audit.json --out $(OUT)/audit $(AUDIT)

check: .venv/.dev ## style, types and layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: .venv/.dev ## speed against plain DuckDB and OpenDP; BENCH=--reduced for a quick look
	@for script in $(filter-out benchmarks/all_peers.py,$(wildcard benchmarks/*.py)); do echo "$$script"; $(BIN)/python $$script $(BENCH) || exit 1; done

bench-peers: .venv/.dev ## ours and every peer on the same files, in turns: benchmarks/RESULTS.md; BENCH="--reduced --peer mbi"
	@$(BIN)/python benchmarks/all_peers.py --install $(BENCH)

STUDIES ?= haney2017 tran2023 bowen2018 hu2024 kinney2007
studies: .venv/.dev ## the papers' experiments beside their printed numbers; STUDIES=tran2023 for one, STUDY="--replicates 3"
	@for name in $(STUDIES); do $(BIN)/tacita study $$name --out $(OUT)/studies/$$name --force $(STUDY) || exit 1; done

accuracy: .venv/.dev ## every plan on real public files: docs/accuracy.md; ACCURACY="--keep --file scf2019 --draws 3", or "--data DIR"
	@$(BIN)/python -m tacita_studies.accuracy --out $(OUT)/accuracy $(ACCURACY)

docs: .venv/.dev ## the documentation as a site in build/docs, with the API reference; a link that leads nowhere is an error
	@$(BIN)/python docs/tools/picture.py
	@$(BIN)/python docs/tools/sizes.py
	@$(BIN)/python docs/tools/keys.py
	@$(BIN)/python docs/tools/site.py
	@$(BIN)/zensical build --clean --strict

clean: ## remove .venv and everything built
	@rm -rf .venv build .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
